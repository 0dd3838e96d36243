// bindings/python/src/graph/trace.h
//
// A Python function of values while it becomes a graph. Arrays that it reads from around it become arguments behind its
// own, whose values are kept beside the graph. All functions need the interpreter's lock.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "place.h"
#include "ridgeline/graph/ir/function_names.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline::python {

// A graph in the hands of Python; nobody changes it.
struct PyGraph {
  std::shared_ptr<const Graph> graph;
};

// The numbers of an array, as functions get and keep them.
struct PyArray {
  Tensor tensor;
};

class FunctionTrace final : public Place {
 public:
  // `code`: of the function; lines are told up to its frame.
  FunctionTrace(const std::string& name, nb::object code);
  GraphBuilder& builder() override { return *builder_; }
  const char* kind() const override { return "graph"; }
  // The same array gives the same value, unless its numbers have changed.
  Value constant(nb::handle array, const Location& where) override;
  PyObject* code() const override { return code_.ptr(); }

  Value input(const std::string& name, const std::string& dtype, const std::vector<std::int64_t>& shape);
  // The results of a function of the graph; `arguments` are values of this one, `constants` those of the function.
  std::vector<Value> call(const std::string& name, const PyGraph& body, const std::vector<Value>& arguments,
                          const std::vector<PyArray>& constants);
  // The graph. Its last arguments are the constants.
  PyGraph finish(const std::vector<Value>& results);
  std::vector<PyArray> constants() const;

 private:
  struct Constant {
    nb::object array;  // keeps the address its own
    Tensor tensor;
    Value value;
  };
  // An argument of that name, or of name_1, name_2, ...
  Value argument(const std::string& name, const ValueType& type);

  std::unique_ptr<GraphBuilder> builder_;
  nb::object code_;
  std::vector<Constant> constants_;
  FunctionTexts functions_;
};

}  // namespace ridgeline::python
