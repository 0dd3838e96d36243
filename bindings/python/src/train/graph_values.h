// bindings/python/src/train/graph_values.h
//
// Values of a step graph in Python, while a user function builds the graph. Ops are located at the user's line: the
// innermost Python frame outside the package. All functions need the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>
#include <vector>

#include "../graph/place.h"
#include "ridgeline/nn/layer_calls.h"
#include "ridgeline/nn/module.h"

namespace ridgeline::python {

namespace nb = nanobind;

// The graph to which Python calls of this thread add ops: that of the innermost scope. Layers find it themselves.
class BuildScope final : public Place {
 public:
  explicit BuildScope(nn::ModelContext& context);
  ~BuildScope() override;
  BuildScope(const BuildScope&) = delete;
  BuildScope& operator=(const BuildScope&) = delete;

  GraphBuilder& builder() override { return context_.builder; }
  const char* kind() const override { return "model"; }
  Value constant(nb::handle array, const Location& where) override;

  // An Error that names `what` if no graph is being built.
  static BuildScope& current(const std::string& what);
  nn::ModelContext& context() { return context_; }
  // The name of a layer, the same at each call: `wish`, or "conv", "conv_1", ... in the order in which layers without a
  // name are first called. Keeps the layer alive until the scope ends. An Error if another layer has the name.
  const std::string& name_of(nb::handle layer, const std::string& base, const std::string& wish);
  // The number of earlier calls of the layer or parameter of that name in this scope. Counts this call.
  int earlier_calls(const std::string& name) { return counted_[name]++; }
  nn::LayerCalls& calls() { return calls_; }

 private:
  nn::ModelContext& context_;
  BuildScope* outer_;
  std::map<std::string, int> counts_;
  std::map<PyObject*, std::string> names_;
  std::map<std::string, nb::object> layers_;  // by name
  std::map<std::string, int> counted_;
  nn::LayerCalls calls_;
};

// The innermost Python frame outside the package; None: there is none.
nb::object user_frame();
// The line of that frame, or of (file, line, function), as layers store it.
Location user_line();
// The stack of lines, innermost first, up to the frame that runs `code`; only the innermost line if no frame does.
LocationStack user_lines(PyObject* code);
Location line_of(nb::handle where);

// Adds one op and returns its results. Operands are Values, numbers (constants of the type of the first Value) and
// None.
std::vector<Value> apply_op(const std::string& op, const std::vector<nb::object>& operands, nb::handle attributes,
                            const Location& where);
Value value_of_python(nb::handle value, const std::string& what);

void bind_graph_values(nb::module_& m);
void bind_layers(nb::module_& m);

}  // namespace ridgeline::python
