// ONNX's ops expressed by ours. ONNX images are NCHW and weights OIHW; ours are NHWC and [K,R,S,C].
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/graph/golden_onnx_handlers.h"
#include "tests/graph/golden_support.h"

namespace ridgeline::test {
namespace {

// ---- pointwise

Handler pointwise(const char* op) {
  return [op](const OnnxNode& node, const Tensors& inputs) -> Tensors {
    const std::string name = op;
    for (const Tensor& x : inputs) {
      if (name == "add" || name == "sub" || name == "mul" || name == "maximum" || name == "minimum" || name == "neg" ||
          name == "abs") {
        expect_dtype_in(x, {DType::f32, DType::f64, DType::i32, DType::i64});
      } else if (name == "less" || name == "less_equal" || name == "equal") {
        expect_dtype_in(x, {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8, DType::boolean});
      } else {
        expect_dtype_in(x, {DType::f32, DType::f64});
      }
    }
    if (inputs.size() == 1 && (node.op == "Max" || node.op == "Min" || node.op == "Sum")) return {inputs[0]};
    if (inputs.size() < 3) return run_op(op, inputs);
    Tensor folded = inputs[0];
    for (std::size_t i = 1; i < inputs.size(); ++i) folded = run_op(op, {folded, inputs[i]})[0];
    return {folded};
  };
}

Tensors greater(const OnnxNode& node, const Tensors& inputs) { return pointwise("less")(node, {inputs[1], inputs[0]}); }
Tensors greater_or_equal(const OnnxNode& node, const Tensors& inputs) {
  return pointwise("less_equal")(node, {inputs[1], inputs[0]});
}
Tensors where(const OnnxNode&, const Tensors& inputs) { return run_op("select", inputs); }

Tensors cast(const OnnxNode& node, const Tensors& inputs) {
  static const std::map<std::int64_t, DType> types = {{1, DType::f32},  {2, DType::u8},      {6, DType::i32},
                                                      {7, DType::i64},  {9, DType::boolean}, {10, DType::f16},
                                                      {11, DType::f64}, {16, DType::bf16}};
  const auto to = types.find(node.integer("to", 0));
  if (to == types.end()) throw OutOfScope("element type " + onnx_type_name(node.integer("to", 0)));
  return run_op("cast", inputs, {{"to", to->second}});
}

Tensors gelu(const OnnxNode& node, const Tensors& inputs) {
  expect_dtype_in(inputs[0], {DType::f32, DType::f64});
  return run_op("gelu", inputs, {{"approximate", node.string("approximate", "none")}});
}

// ---- images

// [N,C,L] or [N,C,H,W] as [N,H,W,C].
Tensor image_of(const Tensor& x) {
  const Shape& s = x.shape();
  if (s.rank() == 3) return to_nhwc(reshaped(x, {s[0], s[1], 1, s[2]}));
  if (s.rank() == 4) return to_nhwc(x);
  throw OutOfScope("not one or two image axes");
}
Tensor image_back(const Tensor& y, int rank) {
  const Tensor nchw = to_nchw(y);
  return rank == 3 ? reshaped(nchw, {nchw.shape()[0], nchw.shape()[1], nchw.shape()[3]}) : nchw;
}

struct Geometry {
  Integers kernel, stride, dilation, pad;  // two axes; pad top, bottom, left, right
};

// `kernel` and `sizes` are one or two values, the image axes. `ceil`: the output size is rounded up.
Geometry geometry_of(const OnnxNode& node, Integers kernel, Integers sizes, bool ceil) {
  const std::size_t axes = sizes.size();
  Integers stride = node.integers("strides", Integers(axes, 1));
  Integers dilation = node.integers("dilations", Integers(axes, 1));
  Integers pads = node.integers("pads", Integers(2 * axes, 0));
  const std::string automatic = node.string("auto_pad", "NOTSET");
  Integers before(axes), after(axes);
  for (std::size_t a = 0; a < axes; ++a) {
    const std::int64_t span = dilation[a] * (kernel[a] - 1) + 1;
    before[a] = pads[a];
    after[a] = pads[axes + a];
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const std::int64_t out = (sizes[a] + stride[a] - 1) / stride[a];
      const std::int64_t total = std::max<std::int64_t>((out - 1) * stride[a] + span - sizes[a], 0);
      before[a] = automatic == "SAME_LOWER" ? total - total / 2 : total / 2;
      after[a] = total - before[a];
    }
    if (ceil) {
      const std::int64_t room = sizes[a] + before[a] + after[a] - span;
      std::int64_t out = (room + stride[a] - 1) / stride[a] + 1;
      if ((out - 1) * stride[a] >= sizes[a] + before[a]) --out;  // a window must begin inside the image
      after[a] += std::max<std::int64_t>((out - 1) * stride[a] - room, 0);
    }
  }
  if (axes == 1) return {{1, kernel[0]}, {1, stride[0]}, {1, dilation[0]}, {0, 0, before[0], after[0]}};
  return {kernel, stride, dilation, {before[0], after[0], before[1], after[1]}};
}

Integers image_sizes(const Tensor& x) {
  if (x.shape().rank() < 3 || x.shape().rank() > 4) throw OutOfScope("not one or two image axes");
  return {x.shape().begin() + 2, x.shape().end()};
}

Tensors conv(const OnnxNode& node, const Tensors& inputs) {
  const Integers sizes = image_sizes(inputs[0]);
  const Integers kernel(inputs[1].shape().begin() + 2, inputs[1].shape().end());
  const Geometry g = geometry_of(node, kernel, sizes, false);
  Tensors operands = {image_of(inputs[0]), image_of(inputs[1])};  // OIHW to [K,R,S,C] is the same permutation
  if (given(inputs, 2)) operands.push_back(inputs[2]);
  const Attributes attributes{
      {"stride", g.stride}, {"pad", g.pad}, {"dilation", g.dilation}, {"groups", node.integer("group", 1)}};
  return {image_back(run_op("conv2d", operands, attributes)[0], inputs[0].shape().rank())};
}

Attributes pool_attributes(const Geometry& g) {
  if (g.dilation != Integers{1, 1}) throw OutOfScope("dilated pooling");
  return {{"kernel", g.kernel}, {"stride", g.stride}, {"pad", g.pad}};
}

Tensors average_pool(const OnnxNode& node, const Tensors& inputs) {
  const bool ceil = node.integer("ceil_mode", 0) != 0;
  const bool include = node.integer("count_include_pad", 0) != 0;
  const Geometry g = geometry_of(node, node.integers("kernel_shape"), image_sizes(inputs[0]), ceil);
  Attributes attributes = pool_attributes(g);
  if (ceil && include) throw OutOfScope("padding counted in windows rounded up");
  attributes.set("count_include_pad", include);
  return {image_back(run_op("avg_pool", {image_of(inputs[0])}, attributes)[0], inputs[0].shape().rank())};
}

Tensors max_pool(const OnnxNode& node, const Tensors& inputs) {
  expect_dtype_in(inputs[0], {DType::f32, DType::f64});
  const Geometry g =
      geometry_of(node, node.integers("kernel_shape"), image_sizes(inputs[0]), node.integer("ceil_mode", 0) != 0);
  const Tensors results = run_op("max_pool", {image_of(inputs[0])}, pool_attributes(g));
  const int rank = inputs[0].shape().rank();
  // Our index is the position in the window, ONNX's is the flat index in the NCHW image.
  const Tensor places = image_back(results[1], rank);
  const Shape& in = inputs[0].shape();
  const Shape& out = places.shape();
  Tensor indices(DType::i64, out);
  if (rank == 4) {
    for (std::int64_t i = 0; i < places.elements(); ++i) {
      const std::int64_t place = places.data<std::uint8_t>()[i];
      const std::int64_t row = i / out[3] % out[2] * g.stride[0] - g.pad[0] + place / g.kernel[1];
      const std::int64_t column = i % out[3] * g.stride[1] - g.pad[2] + place % g.kernel[1];
      const std::int64_t plane = i / (out[2] * out[3]);
      const bool row_major = node.integer("storage_order", 0) == 0;
      indices.data<std::int64_t>()[i] =
          plane * in[2] * in[3] + (row_major ? row * in[3] + column : column * in[2] + row);
    }
  } else if (node.outputs.size() > 1) {
    throw OutOfScope("indices of one image axis");
  }
  return {image_back(results[0], rank), indices};
}

Handler global_pool(const char* op) {
  return [op](const OnnxNode&, const Tensors& inputs) -> Tensors {
    return {to_nchw(run_op(op, {to_nhwc(inputs[0])}, {{"axes", Integers{1, 2}}, {"keep_dims", true}})[0])};
  };
}

// Any number of image axes, as [N,C,H,W] with H the first of them.
Tensors batch_norm(const OnnxNode& node, const Tensors& inputs) {
  const Shape& shape = inputs[0].shape();
  const Integers& dims = shape.dims();
  const Tensor x = to_nhwc(reshaped(inputs[0], {dims[0], dims[1], 1, product(dims, 2, dims.size())}));
  const double epsilon = node.real("epsilon", 1e-5);
  const Tensors operands = {x, inputs[1], inputs[2], inputs[3], inputs[4]};
  if (node.integer("training_mode", 0) == 0) {
    return {reshaped(to_nchw(run_op("batch_norm_eval", operands, {{"epsilon", epsilon}})[0]), shape)};
  }
  const double keep = node.real("momentum", 0.9);
  const Tensors results = run_op("batch_norm_train", operands, {{"epsilon", epsilon}, {"momentum", 1 - keep}});
  // ONNX stores the biased variance, we (like PyTorch) the unbiased one.
  const double count = static_cast<double>(x.elements() / dims[1]);
  Tensor var = results[4].clone();
  for (std::int64_t c = 0; c < dims[1]; ++c) {
    const double kept = keep * inputs[4].at(c);
    var.set(c, kept + (var.at(c) - kept) * (count - 1) / count);
  }
  return {reshaped(to_nchw(results[0]), shape), results[3], var};
}

Tensors lrn(const OnnxNode& node, const Tensors& inputs) {
  const Attributes attributes{{"size", node.integer("size", 1)},
                              {"alpha", node.real("alpha", 1e-4)},
                              {"beta", node.real("beta", 0.75)},
                              {"bias", node.real("bias", 1)}};
  return {to_nchw(run_op("lrn", {to_nhwc(inputs[0])}, attributes)[0])};
}

// ---- matrices

Tensors gemm(const OnnxNode& node, const Tensors& inputs) {
  const Tensor a = node.integer("transA", 0) ? transposed(inputs[0], {1, 0}) : inputs[0];
  const Tensor w = node.integer("transB", 0) ? inputs[1] : transposed(inputs[1], {1, 0});
  const double alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  if (given(inputs, 2) && alpha == 1 && beta == 1 && inputs[2].shape() == Shape{w.shape()[0]}) {
    return run_op("dense", {a, w, inputs[2]});
  }
  Tensor y = run_op("scale", {run_op("dense", {a, w})[0]}, {{"factor", alpha}})[0];
  if (given(inputs, 2)) y = run_op("add", {y, run_op("scale", {inputs[2]}, {{"factor", beta}})[0]})[0];
  return {y};
}

// ---- softmax and losses

Tensors softmax(const OnnxNode& node, const Tensors& inputs) {
  const Shape& shape = inputs[0].shape();
  const int rank = shape.rank();
  if (node.opset < 13) {  // rows consist of the axis and all axes after it
    const auto axis = static_cast<std::size_t>((node.integer("axis", 1) + rank) % rank);
    const Integers& dims = shape.dims();
    const Tensor rows = reshaped(inputs[0], {product(dims, 0, axis), product(dims, axis, dims.size())});
    return {reshaped(run_op("softmax", {rows})[0], shape)};
  }
  return run_op("softmax", {inputs[0]}, {{"axis", node.integer("axis", -1)}});
}

Tensors cross_entropy(const OnnxNode& node, const Tensors& inputs) {
  if (given(inputs, 2)) throw OutOfScope("class weights");
  const Shape& shape = inputs[0].shape();
  Integers permutation = {0};
  for (int axis = 2; axis < shape.rank(); ++axis) permutation.push_back(axis);
  permutation.push_back(1);
  const std::int64_t classes = shape[1], rows = shape.elements() / classes;
  const Tensor moved = transposed(inputs[0], permutation);
  const Tensor labels = run_op("cast", {reshaped(inputs[1], {rows})}, {{"to", DType::i32}})[0];
  Tensors operands = {reshaped(moved, {rows, classes}), labels};
  double count = static_cast<double>(rows);
  if (node.ints.contains("ignore_index")) {
    Tensor mask(DType::f32, {rows});
    for (std::int64_t i = 0; i < rows; ++i)
      mask.set(i, labels.at(i) == static_cast<double>(node.ints.at("ignore_index")) ? 0 : 1);
    count = run_op("reduce_sum", {mask})[0].at(0);
    operands.push_back(mask);
  }
  const Tensors results = run_op("softmax_cross_entropy", operands);
  Tensor loss = reshaped(results[0], inputs[1].shape());
  const std::string reduction = node.string("reduction", "mean");
  if (reduction != "none") loss = run_op("reduce_sum", {loss})[0];
  if (reduction == "mean") loss = run_op("scale", {loss}, {{"factor", 1 / count}})[0];
  Integers back(permutation.size());
  for (std::size_t i = 0; i < back.size(); ++i)
    back[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return {loss, transposed(reshaped(run_op("log", {results[1]})[0], moved.shape()), back)};
}

// Momentum: R, T, X..., G..., V... to X'..., V'...
Tensors momentum(const OnnxNode& node, const Tensors& inputs) {
  const std::size_t count = (inputs.size() - 2) / 3;
  if (inputs[1].at(0) > 0 && node.real("beta", 1) != 1) throw OutOfScope("dampening");
  const Attributes attributes{{"momentum", node.real("alpha", 0)},
                              {"nesterov", node.string("mode", "") == "nesterov"},
                              {"weight_decay", node.real("norm_coefficient", 0)}};
  Tensors next(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const Tensors results = run_op(
        "sgd_momentum", {inputs[2 + i], inputs[2 + 2 * count + i], inputs[2 + count + i], inputs[0]}, attributes);
    next[i] = results[0];
    next[count + i] = results[1];
  }
  return next;
}

Tensors dropout(const OnnxNode& node, const Tensors& inputs) {
  const double ratio = given(inputs, 1) ? inputs[1].at(0) : node.real("ratio", 0.5);
  if (!given(inputs, 2) || inputs[2].at(0) == 0) throw OutOfScope("dropout of inference is no op here");
  if (ratio != 0) throw OutOfScope("another generator of random numbers");
  if (node.outputs.size() > 1) throw OutOfScope("the mask as a result");
  return run_op("dropout", {inputs[0], Tensor::scalar<std::int64_t>(0)},
                {{"keep_prob", 1.0}, {"key", std::int64_t{1}}});
}

Handlers make_table() {
  Handlers table = {
      {"Add", pointwise("add")},
      {"Sub", pointwise("sub")},
      {"Mul", pointwise("mul")},
      {"Div", pointwise("div")},
      {"Max", pointwise("maximum")},
      {"Min", pointwise("minimum")},
      {"Sum", pointwise("add")},
      {"Neg", pointwise("neg")},
      {"Abs", pointwise("abs")},
      {"Exp", pointwise("exp")},
      {"Log", pointwise("log")},
      {"Sqrt", pointwise("sqrt")},
      {"Floor", pointwise("floor")},
      {"Cos", pointwise("cos")},
      {"Sin", pointwise("sin")},
      {"Relu", pointwise("relu")},
      {"Sigmoid", pointwise("sigmoid")},
      {"Tanh", pointwise("tanh")},
      {"Gelu", gelu},
      {"Less", pointwise("less")},
      {"LessOrEqual", pointwise("less_equal")},
      {"Equal", pointwise("equal")},
      {"Greater", greater},
      {"GreaterOrEqual", greater_or_equal},
      {"Where", where},
      {"Cast", cast},
      {"Conv", conv},
      {"AveragePool", average_pool},
      {"MaxPool", max_pool},
      {"GlobalAveragePool", global_pool("reduce_mean")},
      {"GlobalMaxPool", global_pool("reduce_max")},
      {"BatchNormalization", batch_norm},
      {"LRN", lrn},
      {"Gemm", gemm},
      {"Softmax", softmax},
      {"SoftmaxCrossEntropyLoss", cross_entropy},
      {"Momentum", momentum},
      {"Dropout", dropout},
  };
  table.merge(shape_handlers());
  table.merge(sequence_handlers());
  return table;
}

const Handlers& handlers() {
  static const Handlers table = make_table();
  return table;
}

}  // namespace

bool knows_onnx_op(const std::string& op) { return handlers().contains(op); }

std::vector<Tensor> run_onnx_node(const OnnxNode& node, const std::vector<Tensor>& inputs) {
  return handlers().at(node.op)(node, inputs);
}

}  // namespace ridgeline::test
