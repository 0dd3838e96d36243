// ONNX's reductions and shape ops expressed by ours.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/graph/golden_onnx_handlers.h"
#include "tests/graph/golden_support.h"

namespace ridgeline::test {
namespace {

Handler reduce(const char* op) {
  return [op](const OnnxNode& node, const Tensors& inputs) -> Tensors {
    expect_elements(inputs[0]);
    expect_dtype_in(inputs[0], {DType::f32, DType::f64});
    Integers axes = given(inputs, 1) ? integers_in(inputs[1]) : node.integers("axes");
    if (axes.empty() && node.integer("noop_with_empty_axes", 0) != 0) throw OutOfScope("a reduction over no axis");
    for (std::int64_t& axis : axes) axis += axis < 0 ? inputs[0].shape().rank() : 0;
    return run_op(op, {inputs[0]}, {{"axes", axes}, {"keep_dims", node.integer("keepdims", 1) != 0}});
  };
}

Tensors reshape(const OnnxNode& node, const Tensors& inputs) {
  Integers dims = given(inputs, 1) ? integers_in(inputs[1]) : node.integers("shape");
  expect_elements(inputs[0]);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && node.integer("allowzero", 0) == 0) dims[i] = inputs[0].shape()[static_cast<int>(i)];
  }
  const std::int64_t known = std::abs(product(dims, 0, dims.size()));
  for (std::int64_t& d : dims) d = d == -1 ? inputs[0].elements() / known : d;
  return {reshaped(inputs[0], Shape(dims))};
}

Tensors flatten(const OnnxNode& node, const Tensors& inputs) {
  const Integers& dims = inputs[0].shape().dims();
  const std::int64_t rank = inputs[0].shape().rank();
  const std::int64_t axis = node.integer("axis", 1) < 0 ? node.integer("axis", 1) + rank : node.integer("axis", 1);
  // Flattening an NCHW image from axis 1 is our flatten with order chw.
  if (axis == 1 && rank == 4) return run_op("flatten", {to_nhwc(inputs[0])}, {{"order", std::string("chw")}});
  const auto at = static_cast<std::size_t>(axis);
  return {reshaped(inputs[0], {product(dims, 0, at), product(dims, at, dims.size())})};
}

Tensors squeeze(const OnnxNode& node, const Tensors& inputs) {
  Integers axes = given(inputs, 1) ? integers_in(inputs[1]) : node.integers("axes");
  const int rank = inputs[0].shape().rank();
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  Integers dims;
  for (int i = 0; i < rank; ++i) {
    const bool named = axes.empty() ? inputs[0].shape()[i] == 1 : std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!named) dims.push_back(inputs[0].shape()[i]);
  }
  return {reshaped(inputs[0], Shape(dims))};
}

Tensors unsqueeze(const OnnxNode& node, const Tensors& inputs) {
  Integers axes = given(inputs, 1) ? integers_in(inputs[1]) : node.integers("axes");
  const auto rank = static_cast<std::int64_t>(axes.size()) + inputs[0].shape().rank();
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  Integers dims;
  auto from = inputs[0].shape().begin();
  for (std::int64_t i = 0; i < rank; ++i) {
    dims.push_back(std::find(axes.begin(), axes.end(), i) != axes.end() ? 1 : *from++);
  }
  return {reshaped(inputs[0], Shape(dims))};
}

Tensors transpose(const OnnxNode& node, const Tensors& inputs) {
  Integers reversed(static_cast<std::size_t>(inputs[0].shape().rank()));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return {transposed(inputs[0], node.integers("perm", reversed))};
}

// Expand broadcasts in both directions: an extent 1 of the requested shape keeps the tensor's extent.
Tensors expand(const OnnxNode&, const Tensors& inputs) {
  Integers dims = integers_in(inputs[1]);
  const Shape& x = inputs[0].shape();
  for (int back = 1; back <= x.rank(); ++back) {
    if (static_cast<std::size_t>(back) > dims.size()) dims.insert(dims.begin(), 1);
    std::int64_t& d = dims[dims.size() - static_cast<std::size_t>(back)];
    d = std::max(d, x[-back]);
  }
  return run_op("broadcast_to", {inputs[0]}, {{"shape", dims}});
}

Tensors pad(const OnnxNode& node, const Tensors& inputs) {
  const std::string mode = node.string("mode", "constant");
  if (mode != "constant") throw OutOfScope("padding by " + mode);
  expect_dtype_in(inputs[0], {DType::f32, DType::f64});
  const Integers amounts = given(inputs, 1) ? integers_in(inputs[1]) : node.integers("pads");
  const double value = given(inputs, 2) ? inputs[2].at(0) : node.real("value", 0);
  const auto rank = static_cast<std::size_t>(inputs[0].shape().rank());
  Integers axes(rank), low(rank, 0), high(rank, 0);
  std::iota(axes.begin(), axes.end(), 0);
  if (given(inputs, 3)) axes = integers_in(inputs[3]);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(rank) : axes[i]);
    low[axis] = amounts[i];
    high[axis] = amounts[axes.size() + i];
  }
  return run_op("pad", {inputs[0]}, {{"low", low}, {"high", high}, {"value", value}});
}

Tensors slice(const OnnxNode&, const Tensors& inputs) {
  const Shape& x = inputs[0].shape();
  const auto rank = static_cast<std::size_t>(x.rank());
  Integers start(rank, 0), stride(rank, 1), size = x.dims();
  const Integers starts = integers_in(inputs[1]), ends = integers_in(inputs[2]);
  Integers axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (given(inputs, 3)) axes = integers_in(inputs[3]);
  const Integers steps = given(inputs, 4) ? integers_in(inputs[4]) : Integers(starts.size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (steps[i] < 1) throw OutOfScope("a step backwards");
    const auto axis = static_cast<std::size_t>(axes[i] < 0 ? axes[i] + x.rank() : axes[i]);
    const std::int64_t extent = x.dims()[axis];
    const auto clamp = [&](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? v + extent : v, 0, extent); };
    start[axis] = clamp(starts[i]);
    stride[axis] = steps[i];
    size[axis] = (clamp(ends[i]) - start[axis] + steps[i] - 1) / steps[i];
    if (size[axis] < 1) throw OutOfScope("a tensor without elements");
  }
  return run_op("strided_slice", {inputs[0]}, {{"start", start}, {"stride", stride}, {"size", size}});
}

Tensors constant(const OnnxNode& node, const Tensors&) {
  const auto value = node.tensors.find("value");
  if (value == node.tensors.end()) throw OutOfScope("a constant that is no tensor");
  return {value->second};
}

}  // namespace

Handlers shape_handlers() {
  return {
      {"ReduceSum", reduce("reduce_sum")},
      {"ReduceMean", reduce("reduce_mean")},
      {"ReduceMax", reduce("reduce_max")},
      {"Reshape", reshape},
      {"Flatten", flatten},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Transpose", transpose},
      {"Expand", expand},
      {"Pad", pad},
      {"Slice", slice},
      {"Constant", constant},
  };
}

}  // namespace ridgeline::test
