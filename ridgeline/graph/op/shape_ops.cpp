#include "ridgeline/graph/op/shape_ops.h"

#include <cstring>
#include <numeric>

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

void copy_element(const Tensor& from, std::int64_t from_at, Tensor& to, std::int64_t to_at) {
  const std::size_t size = size_of(from.dtype());
  std::memcpy(static_cast<char*>(to.raw()) + static_cast<std::size_t>(to_at) * size,
              static_cast<const char*>(from.raw()) + static_cast<std::size_t>(from_at) * size, size);
}

void reference_copy(const OpInstance&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::memcpy(outputs[0].raw(), inputs[0].raw(), inputs[0].byte_size());
}

// Element `index` of the result is element sum(index * steps) of x.
void gather(const Tensor& x, const Integers& steps, Tensor& y) {
  for_each_index(y.shape(), [&](std::int64_t at, const Integers& index) {
    copy_element(x, std::inner_product(index.begin(), index.end(), steps.begin(), std::int64_t{0}), y, at);
  });
}

std::vector<ValueType> infer_reshape(const OpInstance& op) {
  const Shape shape = shape_attribute("reshape", "shape", op.attributes.integers("shape"));
  if (shape.elements() != op.inputs[0].shape.elements()) {
    fail("reshape", "x " + op.inputs[0].shape.to_string() + " has " + std::to_string(op.inputs[0].shape.elements()) +
                        " elements, shape " + shape.to_string() + " has " + std::to_string(shape.elements()));
  }
  return {{op.inputs[0].dtype, shape}};
}

// ---- flatten and unflatten: [N,H,W,C] and [N,H*W*C], the row in the order h,w,c or c,h,w

bool channels_first(std::string_view op, const Attributes& attributes) {
  const std::string& order = attributes.string("order");
  if (order != "hwc" && order != "chw") fail(op, "unknown order '" + order + "' (allowed: hwc, chw)");
  return order == "chw";
}

std::vector<ValueType> infer_flatten(const OpInstance& op) {
  expect_rank("flatten", "x", op.inputs[0], 4);
  channels_first("flatten", op.attributes);
  const Shape& x = op.inputs[0].shape;
  return {{op.inputs[0].dtype, {x[0], x[1] * x[2] * x[3]}}};
}

void reference_flatten(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (!channels_first("flatten", op.attributes)) return reference_copy(op, inputs, outputs);
  const Shape& x = op.inputs[0].shape;
  const Integers steps = strides_of(x);
  Tensor y = outputs[0].reshaped({x[0], x[3], x[1], x[2]});
  gather(inputs[0], {steps[0], steps[3], steps[1], steps[2]}, y);
}

std::vector<ValueType> infer_unflatten(const OpInstance& op) {
  expect_rank("unflatten", "x", op.inputs[0], 2);
  channels_first("unflatten", op.attributes);
  const Shape shape = shape_attribute("unflatten", "shape", op.attributes.integers("shape"));
  if (shape.rank() != 4) fail("unflatten", "attribute 'shape' must be [N,H,W,C], not " + shape.to_string());
  expect_shape("unflatten", "x", op.inputs[0], {shape[0], shape[1] * shape[2] * shape[3]});
  return {{op.inputs[0].dtype, shape}};
}

void reference_unflatten(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (!channels_first("unflatten", op.attributes)) return reference_copy(op, inputs, outputs);
  const Shape y(op.attributes.integers("shape"));
  const Integers steps = strides_of({y[0], y[3], y[1], y[2]});
  gather(inputs[0], {steps[0], steps[2], steps[3], steps[1]}, outputs[0]);
}

// ---- transpose

std::vector<ValueType> infer_transpose(const OpInstance& op) {
  const Integers& permutation = op.attributes.integers("permutation");
  const Shape& x = op.inputs[0].shape;
  if (static_cast<int>(permutation.size()) != x.rank()) {
    fail("transpose", "permutation " + Shape(permutation).to_string() + " does not fit x " + x.to_string());
  }
  expect_axes("transpose", permutation, x.rank());
  std::vector<std::int64_t> dims;
  for (std::int64_t axis : permutation) dims.push_back(x[static_cast<int>(axis)]);
  return {{op.inputs[0].dtype, Shape(dims)}};
}

void reference_transpose(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Integers strides = strides_of(op.inputs[0].shape);
  Integers steps;
  for (std::int64_t axis : op.attributes.integers("permutation"))
    steps.push_back(strides[static_cast<std::size_t>(axis)]);
  gather(inputs[0], steps, outputs[0]);
}

// ---- broadcast_to

std::vector<ValueType> infer_broadcast(const OpInstance& op) {
  const Shape shape = shape_attribute("broadcast_to", "shape", op.attributes.integers("shape"));
  const Shape& x = op.inputs[0].shape;
  bool fits = x.rank() <= shape.rank();
  for (int back = 1; fits && back <= x.rank(); ++back) fits = x[-back] == shape[-back] || x[-back] == 1;
  if (!fits) fail("broadcast_to", "x " + x.to_string() + " does not broadcast to " + shape.to_string());
  return {{op.inputs[0].dtype, shape}};
}

void reference_broadcast(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& x = op.inputs[0].shape;
  const Integers strides = strides_of(x);
  Integers steps(static_cast<std::size_t>(outputs[0].shape().rank()), 0);
  for (std::size_t back = 1; back <= strides.size(); ++back) {
    if (x[-static_cast<int>(back)] != 1) steps[steps.size() - back] = strides[strides.size() - back];
  }
  gather(inputs[0], steps, outputs[0]);
}

OpDef unary(std::string name, std::string formula, std::vector<AttributeSpec> attributes, unsigned traits = 0) {
  OpDef def;
  def.name = std::move(name);
  def.formula = std::move(formula);
  def.operands = {"x"};
  def.min_operands = def.max_operands = 1;
  def.results = {"y"};
  def.attributes = std::move(attributes);
  def.traits = traits;
  return def;
}

}  // namespace

std::vector<OpDef> shape_ops() {
  const AttributeSpec order = required("order", std::string("hwc"), "hwc or chw: the order of elements within a row");

  OpDef reshape = unary("reshape", "y = the elements of x, in row-major order, in another shape",
                        {required("shape", Integers{1, 4096}, "the new shape")}, kView);
  reshape.infer = infer_reshape;
  reshape.reference = reference_copy;

  OpDef flatten = unary("flatten", "x [N,H,W,C] as rows [N,H*W*C]; with order hwc memory stays unchanged", {order});
  flatten.infer = infer_flatten;
  flatten.reference = reference_flatten;

  OpDef unflatten = unary("unflatten", "rows [N,H*W*C] as [N,H,W,C]: the inverse of flatten",
                          {order, required("shape", Integers{1, 6, 6, 256}, "the new shape, [N,H,W,C]")});
  unflatten.infer = infer_unflatten;
  unflatten.reference = reference_unflatten;

  OpDef transpose = unary("transpose", "axis i of y is axis permutation[i] of x",
                          {required("permutation", Integers{0, 3, 1, 2}, "axes of x in the order of y")});
  transpose.infer = infer_transpose;
  transpose.reference = reference_transpose;

  OpDef broadcast = unary("broadcast_to", "x repeated along new axes and axes of extent 1, as in NumPy",
                          {required("shape", Integers{128, 10}, "the new shape")});
  broadcast.infer = infer_broadcast;
  broadcast.reference = reference_broadcast;
  return {reshape, flatten, unflatten, transpose, broadcast};
}

}  // namespace ridgeline
