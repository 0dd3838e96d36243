// bindings/python/src/graph/trace.h
//
// Tracing of a Python function into a graph. Arrays that it reads from outside become additional arguments after its
// own, and their values are stored with the graph. All functions need the GIL.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "place.h"
#include "ridgeline/graph/ir/function_names.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline::python {

// A graph that Python holds. Immutable.
struct PyGraph {
  std::shared_ptr<const Graph> graph;
};

// The contents of an array, as functions get and store it.
struct PyArray {
  Tensor tensor;
};

class FunctionTrace final : public Place {
 public:
  // `code`: the code object of the function; stack traces end at its frame.
  FunctionTrace(const std::string& name, nb::object code);
  GraphBuilder& builder() override { return *builder_; }
  const char* kind() const override { return "graph"; }
  // The same array gives the same value, unless its contents have changed.
  Value constant(nb::handle array, const Location& where) override;
  PyObject* code() const override { return code_.ptr(); }

  Value input(const std::string& name, const std::string& dtype, const std::vector<std::int64_t>& shape);
  // Calls a function of the graph and returns its results; `arguments` are values of this graph, `constants` the
  // constants of the function.
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
  // Adds an argument `name`, or name_1, name_2, ... if that exists.
  Value argument(const std::string& name, const ValueType& type);

  std::unique_ptr<GraphBuilder> builder_;
  nb::object code_;
  std::vector<Constant> constants_;
  FunctionTexts functions_;
};

}  // namespace ridgeline::python
