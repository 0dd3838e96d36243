#include "ridgeline/graph/grad/gradient.h"

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/gradient_name.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

std::vector<ValueId> GradientScope::apply_all(std::string_view op, std::vector<ValueId> inputs,
                                              const Attributes& attributes) {
  const OpDef& def = op_def(op);
  Node node;
  node.op = def.name;
  node.inputs = std::move(inputs);
  node.attributes = complete_attributes(def, attributes);
  node.where = where_;
  for (int n = 0; node.name.empty() || !names_.insert(node.name).second; ++n) node.name = gradient_name(name_, n);
  std::vector<ValueType> types;
  for (ValueId id : node.inputs) types.push_back(type(id));
  for (ValueType& result : infer_types(def, types, node.attributes, node.name)) {
    node.outputs.push_back(graph_.add_value({std::move(result), ValueKind::grad, ""}));
  }
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs;
}

ValueId GradientScope::unbroadcast(ValueId gradient, const Shape& wanted) {
  const Shape from = shape(gradient);
  if (from == wanted) return gradient;
  std::vector<std::int64_t> axes;
  const int extra = from.rank() - wanted.rank();
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (axis < extra || wanted[axis - extra] != from[axis]) axes.push_back(axis);
  }
  if (!axes.empty()) gradient = apply("reduce_sum", {gradient}, {{"axes", axes}});
  if (shape(gradient) != wanted) gradient = apply("reshape", {gradient}, {{"shape", wanted.dims()}});
  return gradient;
}

}  // namespace ridgeline
