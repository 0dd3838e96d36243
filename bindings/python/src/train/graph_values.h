// bindings/python/src/train/graph_values.h
//
// Values of a step graph in the hands of Python, while a function of the user's builds it. What is added is of the
// user's line: the innermost frame of Python outside of the package. All functions need the interpreter's lock.
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

// What Python calls build into, on this thread: that of the innermost scope. Layers find it by themselves.
class BuildScope final : public Place {
 public:
  explicit BuildScope(nn::ModelContext& context);
  ~BuildScope() override;
  BuildScope(const BuildScope&) = delete;
  BuildScope& operator=(const BuildScope&) = delete;

  GraphBuilder& builder() override { return context_.builder; }
  const char* kind() const override { return "model"; }
  Value constant(nb::handle array, const Location& where) override;

  // An Error that names `what` where nothing is being built.
  static BuildScope& current(const std::string& what);
  nn::ModelContext& context() { return context_; }
  // What the layer is called: the same at each call, `wish`, or "conv", "conv_1", ... in the order in which layers
  // without a name are called first. Keeps the layer until the scope ends. An Error where another one has the name.
  const std::string& name_of(nb::handle layer, const std::string& base, const std::string& wish);
  // How often the layer of that name, or the parameter, was called before in this scope. Counts the call.
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

// The innermost frame of Python outside of the package; None: there is none.
nb::object user_frame();
// Its line, or as layers keep it: (file, line, function).
Location user_line();
// The lines of that frame and of those that called it, innermost first, up to one that runs `code`; the innermost line
// alone where none does.
LocationStack user_lines(PyObject* code);
Location line_of(nb::handle where);

// The results of one op. Operands are Values, numbers (constants of the type of the first Value) and None.
std::vector<Value> apply_op(const std::string& op, const std::vector<nb::object>& operands, nb::handle attributes,
                            const Location& where);
Value value_of_python(nb::handle value, const std::string& what);

void bind_graph_values(nb::module_& m);
void bind_layers(nb::module_& m);

}  // namespace ridgeline::python
