// ONNX's matrix products, slices, table rows, norms of samples and transposed convolutions expressed by our ops.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/graph/golden_onnx_handlers.h"
#include "tests/graph/golden_support.h"

namespace ridgeline::test {
namespace {

// A vector is a row on the left side, a column on the right side, and its axis is removed again.
Tensors onnx_matmul(const OnnxNode&, const Tensors& inputs) {
  for (const Tensor& x : inputs) expect_dtype_in(x, {DType::f32, DType::f64});
  Tensor a = inputs[0], b = inputs[1];
  const bool row = a.shape().rank() == 1, column = b.shape().rank() == 1;
  if (row) a = reshaped(a, {1, a.elements()});
  if (column) b = reshaped(b, {b.elements(), 1});
  const Tensor y = run_op("matmul", {a, b})[0];
  Integers dims = y.shape().dims();
  if (column) dims.pop_back();
  if (row) dims.erase(dims.end() - (column ? 1 : 2));
  return {reshaped(y, Shape(dims))};
}

Tensors onnx_concat(const OnnxNode& node, const Tensors& inputs) {
  return run_op("concat", inputs, {{"axis", node.integer("axis", 0)}});
}

Tensors onnx_split(const OnnxNode& node, const Tensors& inputs) {
  expect_elements(inputs[0]);
  const std::int64_t axis = node.integer("axis", 0);
  const std::int64_t extent = inputs[0].shape()[static_cast<int>(axis)];
  Integers sizes = given(inputs, 1) ? integers_in(inputs[1]) : node.integers("split");
  if (sizes.empty()) {  // equal parts, the last of which may be shorter
    const auto parts = static_cast<std::int64_t>(node.outputs.size());
    const std::int64_t size = (extent + parts - 1) / parts;
    for (std::int64_t at = 0; at < extent; at += size) sizes.push_back(std::min(size, extent - at));
  }
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) throw OutOfScope("a part without elements");
  return run_op("split", {inputs[0]}, {{"axis", axis}, {"sizes", sizes}});
}

// Indices may count from the end there, as negative numbers.
Tensors onnx_gather(const OnnxNode& node, const Tensors& inputs) {
  const std::int64_t axis = node.integer("axis", 0);
  Tensor indices(DType::i32, inputs[1].shape());
  const auto rows = static_cast<double>(inputs[0].shape()[static_cast<int>(axis)]);
  for (std::int64_t i = 0; i < indices.elements(); ++i)
    indices.set(i, inputs[1].at(i) < 0 ? inputs[1].at(i) + rows : inputs[1].at(i));
  return run_op("gather", {inputs[0], indices}, {{"axis", axis}});
}

Tensors onnx_layer_norm(const OnnxNode& node, const Tensors& inputs) {
  expect_dtype_in(inputs[0], {DType::f32, DType::f64});
  const Shape& x = inputs[0].shape();
  const std::int64_t axis = node.integer("axis", -1);
  const auto first = static_cast<std::size_t>(axis < 0 ? axis + x.rank() : axis);
  const Shape last(Integers(x.dims().begin() + static_cast<std::ptrdiff_t>(first), x.dims().end()));
  Tensors operands = {inputs[0], inputs[1], given(inputs, 2) ? inputs[2] : Tensor::zeros(inputs[0].dtype(), last)};
  if (inputs[1].shape() != last) throw OutOfScope("a scale that is repeated");
  Tensors results = run_op("layer_norm", operands, {{"epsilon", node.real("epsilon", 1e-5)}});
  Integers kept(x.dims().begin(), x.dims().begin() + static_cast<std::ptrdiff_t>(first));
  kept.resize(x.dims().size(), 1);
  for (std::size_t i = 1; i < 3; ++i) results[i] = reshaped(results[i], Shape(kept));
  return results;
}

// [N,C,...] with scales per channel, or per group before version 21.
Tensors onnx_group_norm(const OnnxNode& node, const Tensors& inputs) {
  expect_dtype_in(inputs[0], {DType::f32, DType::f64});
  const Integers& dims = inputs[0].shape().dims();
  const std::int64_t groups = node.integer("num_groups", 1), channels = dims[1];
  const auto by_channel = [&](const Tensor& v) {
    Tensor all(v.dtype(), {channels});
    const std::int64_t each = channels / v.elements();
    for (std::int64_t c = 0; c < channels; ++c) all.set(c, v.at(c / each));
    return all;
  };
  const Tensor x = to_nhwc(reshaped(inputs[0], {dims[0], channels, 1, product(dims, 2, dims.size())}));
  const Tensors y = run_op("group_norm", {x, by_channel(inputs[1]), by_channel(inputs[2])},
                           {{"groups", groups}, {"epsilon", node.real("epsilon", 1e-5)}});
  return {reshaped(to_nchw(y[0]), inputs[0].shape())};
}

// A group for every channel.
Tensors onnx_instance_norm(const OnnxNode& node, const Tensors& inputs) {
  OnnxNode grouped = node;
  grouped.ints["num_groups"] = inputs[0].shape()[1];
  return onnx_group_norm(grouped, inputs);
}

Tensors onnx_conv_transpose(const OnnxNode& node, const Tensors& inputs) {
  const int rank = inputs[0].shape().rank();
  if (rank != 3 && rank != 4) throw OutOfScope("not one or two image axes");
  const std::size_t axes = static_cast<std::size_t>(rank) - 2;
  const auto image = [&](const Tensor& t) {
    const Shape& s = t.shape();
    return to_nhwc(rank == 4 ? t : reshaped(t, {s[0], s[1], 1, s[2]}));
  };
  const Tensor x = image(inputs[0]), w = image(inputs[1]);
  const auto both = [&](const char* name, std::int64_t absent) {
    Integers list = node.integers(name, Integers(axes, absent));
    if (axes == 1) list.insert(list.begin(), absent);
    return list;
  };
  const Integers stride = both("strides", 1), dilation = both("dilations", 1), more = both("output_padding", 0);
  Integers begins(2, 0), ends(2, 0);
  const Integers pads = node.integers("pads", Integers(2 * axes, 0));
  for (std::size_t a = 0; a < axes; ++a) {
    begins[a + 2 - axes] = pads[a];
    ends[a + 2 - axes] = pads[axes + a];
  }
  const Integers wanted = node.integers("output_shape");
  const std::string automatic = node.string("auto_pad", "NOTSET");
  Integers size(2);
  for (std::size_t a = 0; a < 2; ++a) {
    const int axis = static_cast<int>(a) + 1;
    const std::int64_t full = (x.shape()[axis] - 1) * stride[a] + dilation[a] * (w.shape()[axis] - 1) + 1 + more[a];
    const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
    if ((!wanted.empty() || same) && a + axes >= 2) {
      size[a] = wanted.empty() ? x.shape()[axis] * stride[a] : wanted[wanted.size() + a - 2];
      const std::int64_t total = full - size[a];
      if (total < 0) throw OutOfScope("a result beyond what the windows reach");
      begins[a] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      ends[a] = total - begins[a];
    } else {
      size[a] = full - begins[a] - ends[a];
    }
    // A convolution of the result must have the size of x.
    if ((size[a] + begins[a] + ends[a] - dilation[a] * (w.shape()[axis] - 1) - 1) / stride[a] + 1 != x.shape()[axis])
      throw OutOfScope("more rows at the end than a stride has");
  }
  const std::int64_t groups = node.integer("group", 1);
  Tensor y = run_op("conv2d_bwd_data", {x, w},
                    {{"stride", stride},
                     {"pad", Integers{begins[0], ends[0], begins[1], ends[1]}},
                     {"dilation", dilation},
                     {"groups", groups},
                     {"input", Integers{x.shape()[0], size[0], size[1], w.shape()[3] * groups}}})[0];
  if (given(inputs, 2)) y = run_op("add", {y, inputs[2]})[0];
  y = to_nchw(y);
  return {rank == 4 ? y : reshaped(y, {y.shape()[0], y.shape()[1], y.shape()[3]})};
}

}  // namespace

Handlers sequence_handlers() {
  return {
      {"MatMul", onnx_matmul},
      {"Concat", onnx_concat},
      {"Split", onnx_split},
      {"Gather", onnx_gather},
      {"LayerNormalization", onnx_layer_norm},
      {"GroupNormalization", onnx_group_norm},
      {"InstanceNormalization", onnx_instance_norm},
      {"ConvTranspose", onnx_conv_transpose},
  };
}

}  // namespace ridgeline::test
