// ridgeline/graph/ir/traced_function.h
//
// A C++ function of values that is recorded once for each set of shapes and types that it is called with, in whichever
// graphs: what ridgeline.function is in Python. It is called as a named function of its caller's graph, as by call()
// (trace.h), which records it at every call. What it reads from around it is read when it is recorded.
//
//   TracedFunction doubled("doubled", [](Value x) { return x * 2; });
//   const Graph g = trace("g", {f32({2})}, [&](Value x) { return doubled(doubled(x)); });  // recorded once
//
// Owns what it has recorded. One thread.
#pragma once

#include <cstddef>
#include <list>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/core/function_ref.h"
#include "ridgeline/graph/ir/trace.h"

namespace ridgeline {

// Graphs of one function, by the types of its arguments.
class Specialisations {
 public:
  explicit Specialisations(std::string name) : name_(std::move(name)) {}

  // Recorded by `record`, whose values are the arguments, where there is none. An Error with the line where the
  // function calls itself with arguments of the same types.
  const Graph& of(std::span<const ValueType> types, FunctionRef<Value(std::vector<Value>&)> record,
                  const Location& where);
  const std::string& name() const { return name_; }
  std::size_t size() const { return known_.size(); }
  void clear() { known_.clear(); }

 private:
  struct Specialisation {
    std::vector<ValueType> types;
    Graph graph;
  };
  std::string name_;
  std::list<Specialisation> known_;  // which stay where they are while a function calls itself with other types
  std::vector<std::vector<ValueType>> recording_;
};

template <class F>
class TracedFunction {
 public:
  TracedFunction(std::string name, F function) : function_(std::move(function)), known_(std::move(name)) {}

  // Of values of one graph: a part of that.
  template <class... Values>
  Value operator()(Located first, Values... rest) {
    GraphBuilder& caller = first.value.builder(first.where);
    const std::vector<Value> arguments{first.value, rest...};
    std::vector<ValueType> types;
    for (const Value& argument : arguments)
      types.push_back(argument.builder(first.where).graph().value(argument.id()).type);
    const Graph& body = recorded<1 + sizeof...(rest)>(types, first.where);
    return call_specialised(caller, known_.name(), body, arguments, first.where).front();
  }

  // The graph for arguments of these types, named x0, x1, ...
  template <std::size_t N>
  const Graph& graph(const ValueType (&types)[N], const std::source_location& at = std::source_location::current()) {
    return recorded<N>(types, Location::of(at));
  }
  // How many graphs it has recorded.
  std::size_t specialisations() const { return known_.size(); }
  // Drops them: what the function reads from around it is read again.
  void forget() { known_.clear(); }

 private:
  template <std::size_t N>
  const Graph& recorded(std::span<const ValueType> types, const Location& where) {
    const auto record = [this](std::vector<Value>& values) {
      return detail::invoke_on(function_, values, std::make_index_sequence<N>{});
    };
    return known_.of(types, record, where);
  }

  F function_;
  Specialisations known_;
};

}  // namespace ridgeline
