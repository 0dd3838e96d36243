// ridgeline/graph/ir/trace.h
//
// A C++ function becomes a graph: it is called once with symbolic values, and what it does to them is recorded.
#pragma once

#include <functional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "ridgeline/graph/ir/builder.h"

namespace ridgeline {

inline ValueType f32(Shape shape) { return {DType::f32, std::move(shape)}; }

namespace detail {

template <class F, std::size_t... I>
Value invoke_on(F&& function, std::vector<Value>& values, std::index_sequence<I...>) {
  return function(values[I]...);
}

}  // namespace detail

// The graph @name of function(Value...) -> Value over arguments of the given types, named x0, x1, ...
template <std::size_t N, class F>
Graph trace(std::string name, const ValueType (&types)[N], F&& function,
            const std::source_location& at = std::source_location::current()) {
  GraphBuilder builder(std::move(name));
  std::vector<Value> values;
  for (std::size_t i = 0; i < N; ++i) values.push_back(builder.input("x" + std::to_string(i), types[i]));
  const Value result = detail::invoke_on(function, values, std::make_index_sequence<N>{});
  builder.returns("result", result, at);
  return builder.finish();
}

// Calls the body as a function named `name` of the caller's graph, and returns its results. If a function of that name
// exists for other argument types, a new one is made: name_1, name_2, ... Another body for the same types is an Error.
std::vector<Value> call_specialised(GraphBuilder& caller, const std::string& name, Graph body,
                                    std::span<const Value> arguments, const Location& where);

// Calls function(Value...) as a named function of the arguments' graph: one function for each set of argument types.
template <class F, class... Values>
Value call(const std::string& name, F&& function, Located first, Values... rest) {
  GraphBuilder& caller = first.value.builder(first.where);
  std::vector<Value> arguments{first.value, rest...};
  GraphBuilder body(name);
  std::vector<Value> parameters;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ValueType& type = arguments[i].builder(first.where).graph().value(arguments[i].id()).type;
    parameters.push_back(body.input("x" + std::to_string(i), type));
  }
  const Value result = detail::invoke_on(function, parameters, std::make_index_sequence<1 + sizeof...(rest)>{});
  body.returns("result", result, first.where);
  return call_specialised(caller, name, body.finish(), arguments, first.where).front();
}

}  // namespace ridgeline
