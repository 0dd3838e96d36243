#include "ridgeline/graph/op/slice_ops.h"

#include <cstring>

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

const Integers& one_an_axis(std::string_view op, const Attributes& attributes, std::string_view name, int rank) {
  const Integers& values = attributes.integers(name);
  if (static_cast<int>(values.size()) != rank) {
    fail(op, "attribute '" + std::string(name) + "' = " + Shape(values).to_string() +
                 " needs one value for each of the " + std::to_string(rank) + " axes");
  }
  return values;
}

// ---- pad

std::vector<ValueType> infer_pad(const OpInstance& op) {
  expect_floating("pad", "x", op.inputs[0]);
  const Shape& x = op.inputs[0].shape;
  const Integers& low = one_an_axis("pad", op.attributes, "low", x.rank());
  const Integers& high = one_an_axis("pad", op.attributes, "high", x.rank());
  Shape y = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    std::int64_t added = 0;
    if (__builtin_add_overflow(low[a], high[a], &added) || __builtin_add_overflow(y[axis], added, &y[axis])) {
      fail("pad", "low " + Shape(low).to_string() + " and high " + Shape(high).to_string() + " are too large");
    }
    if (y[axis] < 1) {
      fail("pad", "low " + Shape(low).to_string() + " and high " + Shape(high).to_string() + " leave nothing of x " +
                      x.to_string() + " along axis " + std::to_string(axis));
    }
  }
  return {{op.inputs[0].dtype, y}};
}

void reference_pad(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& x = op.inputs[0].shape;
  const Integers& low = op.attributes.integers("low");
  const Integers strides = strides_of(x);
  const std::vector<double> values = widen(inputs[0]);
  std::vector<double> y(static_cast<std::size_t>(outputs[0].elements()), op.attributes.real("value"));
  for_each_index(outputs[0].shape(), [&](std::int64_t at, const Integers& index) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      const std::int64_t i = index[axis] - low[axis];
      if (i < 0 || i >= x[static_cast<int>(axis)]) return;
      from += i * strides[axis];
    }
    y[static_cast<std::size_t>(at)] = values[static_cast<std::size_t>(from)];
  });
  store(y, outputs[0]);
}

// ---- strided_slice: index i of the result is index start + i*stride of x

void expect_inside(std::string_view op, const Integers& start, const Integers& stride, const Shape& size,
                   const Shape& x) {
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (stride[a] < 1) fail(op, "stride " + Shape(stride).to_string() + " must be at least 1");
    if (start[a] < 0 || start[a] >= x[axis] || size[axis] - 1 > (x[axis] - 1 - start[a]) / stride[a]) {
      fail(op, "start " + Shape(start).to_string() + ", stride " + Shape(stride).to_string() + " and size " +
                   size.to_string() + " leave x " + x.to_string() + " along axis " + std::to_string(axis));
    }
  }
}

std::vector<ValueType> infer_slice(const OpInstance& op) {
  if (op.inputs[0].dtype == DType::bytes) fail("strided_slice", "x holds byte strings; numbers are meant");
  const Shape& x = op.inputs[0].shape;
  const Integers& start = one_an_axis("strided_slice", op.attributes, "start", x.rank());
  const Integers& stride = one_an_axis("strided_slice", op.attributes, "stride", x.rank());
  const Shape size =
      shape_attribute("strided_slice", "size", one_an_axis("strided_slice", op.attributes, "size", x.rank()));
  expect_inside("strided_slice", start, stride, size, x);
  return {{op.inputs[0].dtype, size}};
}

std::vector<ValueType> infer_slice_backward(const OpInstance& op) {
  constexpr std::string_view name = "strided_slice_bwd";
  expect_floating(name, "dy", op.inputs[0]);
  const Shape& dy = op.inputs[0].shape;
  const Shape x = shape_attribute(name, "input", one_an_axis(name, op.attributes, "input", dy.rank()));
  expect_inside(name, one_an_axis(name, op.attributes, "start", dy.rank()),
                one_an_axis(name, op.attributes, "stride", dy.rank()), dy, x);
  return {{op.inputs[0].dtype, x}};
}

// Calls body(flat index in the slice, flat index in x).
template <class F>
void for_each_sliced(const Shape& x, const Shape& slice, const Attributes& attributes, F&& body) {
  const Integers& start = attributes.integers("start");
  const Integers& stride = attributes.integers("stride");
  const Integers strides = strides_of(x);
  for_each_index(slice, [&](std::int64_t at, const Integers& index) {
    std::int64_t in_x = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      in_x += (start[axis] + index[axis] * stride[axis]) * strides[axis];
    }
    body(static_cast<std::size_t>(at), static_cast<std::size_t>(in_x));
  });
}

void reference_slice(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::size_t size = size_of(inputs[0].dtype());
  const auto* x = static_cast<const char*>(inputs[0].raw());
  auto* y = static_cast<char*>(outputs[0].raw());
  for_each_sliced(op.inputs[0].shape, outputs[0].shape(), op.attributes,
                  [&](std::size_t at, std::size_t in_x) { std::memcpy(y + at * size, x + in_x * size, size); });
}

void reference_slice_backward(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::vector<double> dy = widen(inputs[0]);
  std::vector<double> dx(static_cast<std::size_t>(outputs[0].elements()), 0.0);
  for_each_sliced(outputs[0].shape(), op.inputs[0].shape, op.attributes,
                  [&](std::size_t at, std::size_t in_x) { dx[in_x] = dy[at]; });
  store(dx, outputs[0]);
}

}  // namespace

std::vector<OpDef> slice_ops() {
  const AttributeSpec start = required("start", Integers{0, 0, 0, 0}, "first index along each axis");
  const AttributeSpec stride = required("stride", Integers{1, 2, 2, 1}, "step along each axis, at least 1");

  OpDef pad;
  pad.name = "pad";
  pad.formula = "y = x with low[i] elements added before and high[i] after it along axis i; negative numbers crop";
  pad.operands = {"x"};
  pad.min_operands = pad.max_operands = 1;
  pad.results = {"y"};
  pad.attributes = {required("low", Integers{0, 0, 0, 8}, "elements to add before, one number per axis"),
                    required("high", Integers{0, 0, 0, 8}, "elements to add after, one number per axis"),
                    optional("value", 0.0, "value of new elements")};
  pad.infer = infer_pad;
  pad.reference = reference_pad;

  OpDef slice;
  slice.name = "strided_slice";
  slice.formula = "y[i] = x[start + i*stride] for i < size, along every axis";
  slice.operands = {"x"};
  slice.min_operands = slice.max_operands = 1;
  slice.results = {"y"};
  slice.attributes = {start, stride, required("size", Integers{1, 16, 16, 16}, "shape of the result")};
  slice.infer = infer_slice;
  slice.reference = reference_slice;

  OpDef backward;
  backward.name = "strided_slice_bwd";
  backward.formula = "dx[start + i*stride] = dy[i], zero elsewhere";
  backward.operands = {"dy"};
  backward.min_operands = backward.max_operands = 1;
  backward.results = {"dx"};
  backward.attributes = {start, stride, required("input", Integers{1, 32, 32, 16}, "shape of x")};
  backward.infer = infer_slice_backward;
  backward.reference = reference_slice_backward;
  return {pad, slice, backward};
}

}  // namespace ridgeline
