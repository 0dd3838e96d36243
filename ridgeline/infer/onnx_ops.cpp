#include "ridgeline/infer/onnx_ops.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline::infer {
namespace {

using Integers = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

Tensor integers(const Integers& values) { return Tensor::of(values, {static_cast<std::int64_t>(values.size())}); }

// What one op is given to work with.
struct At {
  OnnxGraph& onnx;
  const Node& node;
  const Attributes& attributes;  // complete

  std::string x(std::size_t i = 0) const { return onnx.name(node.inputs[i]); }
  std::string here(std::size_t i = 0) const { return onnx.here(node.inputs[i]); }
  std::string as_image() const { return onnx.image(node.inputs[0]); }
  const Shape& shape(std::size_t i = 0) const { return onnx.shape(node.inputs[i]); }
  bool image(std::size_t i = 0) const { return onnx.is_image(node.inputs[i]); }
  // A list by axes, in the order of the axes there.
  Integers reordered(const Integers& list) const {
    return image() ? Integers{list[0], list[3], list[1], list[2]} : list;
  }
  // top, bottom, left, right to begins, ends.
  Integers pads() const {
    const Integers& pad = attributes.integers("pad");
    return {pad[0], pad[2], pad[1], pad[3]};
  }
  Names inputs() const {
    Names names;
    for (const ValueId id : node.inputs) names.push_back(onnx.name(id));
    return names;
  }
  // An axis attribute, counted from 0, of operand 0 there.
  std::int64_t axis(const char* name = "axis") const {
    const std::int64_t given = attributes.integer(name), axis = given < 0 ? given + shape().rank() : given;
    constexpr std::int64_t there[] = {0, 2, 3, 1};
    return image() ? there[axis] : axis;
  }
  // A constant of the type of result 0.
  std::string scalar(double value) const {
    Tensor constant(onnx.type(node.outputs[0]).dtype, {});
    constant.set(0, value);
    return onnx.constant(node, constant);
  }
  // Result 0: an image where operand 0 is one and the rank stays.
  void last(const std::string& op, const Names& names, const OnnxAttributes& given = {}) const {
    onnx.last(node, op, names, given, image() && onnx.shape(node.outputs[0]).rank() == 4);
  }
  // Result 0, an image or a row, with the activation that the op may have taken in.
  void with_activation(const std::string& op, const Names& names, const OnnxAttributes& given = {}) const {
    const bool is_image = onnx.shape(node.outputs[0]).rank() == 4;
    const std::string& activation = attributes.string("activation");
    if (activation == "none") return onnx.last(node, op, names, given, is_image);
    const std::string y = onnx.between(node, op, names, given);
    if (activation == "relu6") return onnx.last(node, "Clip", {y, scalar(0), scalar(6)}, {}, is_image);
    onnx.last(node, "Relu", {y}, {}, is_image);
  }
  // The operands of an op on images, the first of which is one.
  Names of_image() const {
    Names names = inputs();
    names[0] = as_image();
    return names;
  }
};

void conv2d(const At& at) {
  const Shape& w = at.shape(1);
  at.with_activation("Conv", at.of_image(),
                     {{"dilations", at.attributes.integers("dilation")},
                      {"group", at.attributes.integer("groups")},
                      {"kernel_shape", Integers{w[1], w[2]}},
                      {"pads", at.pads()},
                      {"strides", at.attributes.integers("stride")}});
}

// The gradient of a convolution by its image is what others call a transposed convolution.
void conv_transpose(const At& at) {
  if (at.node.inputs.size() > 2) at.onnx.refuse(at.node, "an operand gate, which only training has");
  const Shape &w = at.shape(1), &y = at.onnx.shape(at.node.outputs[0]);
  const Integers &stride = at.attributes.integers("stride"), &dilation = at.attributes.integers("dilation");
  const Integers pads = at.pads();
  Integers more;  // rows and columns that no position of the window reaches last
  for (int axis = 0; axis < 2; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t reached = (at.shape()[axis + 1] - 1) * stride[a] + dilation[a] * (w[axis + 1] - 1) + 1;
    more.push_back(y[axis + 1] - (reached - pads[a] - pads[a + 2]));
  }
  at.onnx.last(at.node, "ConvTranspose", at.of_image(),
               {{"dilations", dilation},
                {"group", at.attributes.integer("groups")},
                {"kernel_shape", Integers{w[1], w[2]}},
                {"output_padding", more},
                {"pads", pads},
                {"strides", stride}},
               true);
}

void dense(const At& at) { at.with_activation("Gemm", at.inputs(), {{"transB", std::int64_t{1}}}); }

void pool(const At& at, const std::string& op, OnnxAttributes more) {
  more["kernel_shape"] = at.attributes.integers("kernel");
  more["strides"] = at.attributes.integers("stride");
  more["pads"] = at.pads();
  at.onnx.last(at.node, op, {at.as_image()}, more, true);
}
void max_pool(const At& at) { pool(at, "MaxPool", {}); }
void avg_pool(const At& at) {
  pool(at, "AveragePool", {{"count_include_pad", std::int64_t{at.attributes.boolean("count_include_pad")}}});
}

void batch_norm(const At& at) {
  if (at.node.inputs.size() > 5 || at.attributes.boolean("var_is_inv_std")) {
    at.onnx.refuse(at.node, "a form that only the compiler makes");
  }
  at.with_activation("BatchNormalization", at.shape().rank() == 4 ? at.of_image() : at.inputs(),
                     {{"epsilon", static_cast<float>(at.attributes.real("epsilon"))}});
}

void lrn(const At& at) {
  if (at.shape().rank() != 4) at.onnx.refuse(at.node, "another operand than an image");
  at.onnx.last(at.node, "LRN", {at.as_image()},
               {{"size", at.attributes.integer("size")},
                {"alpha", static_cast<float>(at.attributes.real("alpha"))},
                {"beta", static_cast<float>(at.attributes.real("beta"))},
                {"bias", static_cast<float>(at.attributes.real("bias"))}},
               true);
}

// (v - 255 mean) / (255 std).
void image_tail(const At& at) {
  if (at.node.inputs.size() > 1) at.onnx.refuse(at.node, "an operand flip, which only training has");
  Tensor mean(DType::f32, {1, 3, 1, 1}), std(DType::f32, {1, 3, 1, 1});
  for (std::int64_t c = 0; c < 3; ++c) {
    mean.set(c, 255 * at.attributes.reals("mean")[static_cast<std::size_t>(c)]);
    std.set(c, 255 * at.attributes.reals("std")[static_cast<std::size_t>(c)]);
  }
  std::string v = at.onnx.between(at.node, "Transpose", {at.x()}, {{"perm", Integers{0, 3, 1, 2}}});
  v = at.onnx.between(at.node, "Cast", {v}, {{"to", std::int64_t{1}}});
  v = at.onnx.between(at.node, "Sub", {v, at.onnx.constant(at.node, mean)});
  at.onnx.last(at.node, "Div", {v, at.onnx.constant(at.node, std)}, {}, true);
}

void flatten(const At& at) {
  const std::string x = at.attributes.string("order") == "hwc" ? at.here() : at.as_image();
  at.last("Flatten", {x}, {{"axis", std::int64_t{1}}});
}

void reduce(const At& at, const std::string& op) {
  Integers axes = at.attributes.integers("axes");
  if (axes.empty() || std::find(axes.begin(), axes.end(), 0) != axes.end()) {
    at.onnx.refuse(at.node, "a reduction over the rows");
  }
  const bool keep = at.attributes.boolean("keep_dims");
  if (at.image()) {
    if (!keep && axes.size() < 2) at.onnx.refuse(at.node, "a result of rank three, whose order is not the other one's");
    constexpr std::int64_t there[] = {0, 2, 3, 1};
    for (std::int64_t& axis : axes) axis = there[axis];
  }
  std::sort(axes.begin(), axes.end());
  at.last(op, {at.x(), at.onnx.constant(at.node, integers(axes))}, {{"keepdims", std::int64_t{keep}}});
}
void reduce_mean(const At& at) { reduce(at, "ReduceMean"); }
void reduce_sum(const At& at) { reduce(at, "ReduceSum"); }
void reduce_max(const At& at) { reduce(at, "ReduceMax"); }

// Operands broadcast alike in both orders where an image meets images and scalars only; else all are as they are here.
void elementwise(const At& at, const std::string& op) {
  bool images = false, others = false;
  for (std::size_t i = 0; i < at.node.inputs.size(); ++i) {
    if (at.shape(i).rank() != 0) (at.image(i) ? images : others) = true;
  }
  Names names;
  for (std::size_t i = 0; i < at.node.inputs.size(); ++i) names.push_back(others ? at.here(i) : at.x(i));
  at.onnx.last(at.node, op, names, {}, images && !others);
}
void constant(const At& at) { at.onnx.last(at.node, "Identity", {at.scalar(at.attributes.real("value"))}, {}, false); }
void scale(const At& at) { at.last("Mul", {at.x(), at.scalar(at.attributes.real("factor"))}); }
void relu6(const At& at) { at.last("Clip", {at.x(), at.scalar(0), at.scalar(6)}); }
void silu(const At& at) { at.last("Mul", {at.x(), at.onnx.between(at.node, "Sigmoid", {at.x()})}); }
void gelu(const At& at) { at.last("Gelu", {at.x()}, {{"approximate", at.attributes.string("approximate")}}); }
void softmax(const At& at) { at.last("Softmax", {at.x()}, {{"axis", at.axis()}}); }

// The last two axes of operand `i` the other way round.
std::string turned_matrices(const At& at, std::size_t i) {
  Integers permutation(static_cast<std::size_t>(at.shape(i).rank()));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return at.onnx.between(at.node, "Transpose", {at.here(i)}, {{"perm", permutation}});
}
void matmul(const At& at) {
  const auto operand = [&](std::size_t i, const char* turned) {
    return at.attributes.boolean(turned) ? turned_matrices(at, i) : at.here(i);
  };
  at.onnx.last(at.node, "MatMul", {operand(0, "transpose_a"), operand(1, "transpose_b")}, {}, false);
}

void concat(const At& at) {
  bool images = true;
  for (std::size_t i = 0; i < at.node.inputs.size(); ++i) images = images && at.image(i);
  Names names;
  for (std::size_t i = 0; i < at.node.inputs.size(); ++i) names.push_back(images ? at.x(i) : at.here(i));
  const std::int64_t given = at.attributes.integer("axis");
  const std::int64_t axis = images ? at.axis() : given < 0 ? given + at.shape().rank() : given;
  if (axis == 0 && at.onnx.by_rows(at.node.outputs[0])) at.onnx.refuse(at.node, "rows behind rows");
  at.onnx.last(at.node, "Concat", names, {{"axis", axis}}, images);
}

void split(const At& at) {
  if (at.axis() == 0 && at.onnx.by_rows(at.node.inputs[0])) at.onnx.refuse(at.node, "a cut of the rows");
  at.onnx.last(at.node, "Split", {at.x(), at.onnx.constant(at.node, integers(at.attributes.integers("sizes")))},
               {{"axis", at.axis()}}, at.image(), at.node.outputs.size());
}

// Where the first extent follows the number of rows, it is what is left over.
void reshape(const At& at) {
  Integers shape = at.attributes.integers("shape");
  if (at.onnx.by_rows(at.node.inputs[0])) shape[0] = -1;
  at.onnx.last(at.node, "Reshape", {at.here(), at.onnx.constant(at.node, integers(shape))}, {}, false);
}

void transpose(const At& at) {
  const Integers& permutation = at.attributes.integers("permutation");
  if (permutation[0] != 0 && at.onnx.by_rows(at.node.inputs[0])) at.onnx.refuse(at.node, "rows behind another axis");
  at.onnx.last(at.node, "Transpose", {at.here()}, {{"perm", permutation}}, false);
}

void gather(const At& at) {
  const std::int64_t given = at.attributes.integer("axis");
  at.onnx.last(at.node, "Gather", {at.here(0), at.here(1)}, {{"axis", given < 0 ? given + at.shape().rank() : given}},
               false);
}

void layer_norm(const At& at) {
  at.onnx.last(at.node, "LayerNormalization", {at.here(0), at.here(1), at.here(2)},
               {{"axis", std::int64_t{at.shape().rank() - at.shape(1).rank()}},
                {"epsilon", static_cast<float>(at.attributes.real("epsilon"))}},
               false);
}

// As an instance norm over all values of a group, which ONNX has in every version alike.
void group_norm(const At& at) {
  const std::int64_t groups = at.attributes.integer("groups"), channels = at.shape(1)[0];
  const bool is_image = at.shape().rank() == 4;
  if (!is_image && at.shape().rank() != 2) at.onnx.refuse(at.node, "another operand than an image or a row");
  const std::string x = is_image ? at.as_image() : at.x();
  Tensor scale(DType::f32, {groups});
  for (std::int64_t g = 0; g < groups; ++g) scale.set(g, 1);
  const std::string grouped =
      at.onnx.between(at.node, "Reshape", {x, at.onnx.constant(at.node, integers({0, groups, -1}))});
  std::string y = at.onnx.between(
      at.node, "InstanceNormalization",
      {grouped, at.onnx.constant(at.node, scale), at.onnx.constant(at.node, Tensor::zeros(DType::f32, {groups}))},
      {{"epsilon", static_cast<float>(at.attributes.real("epsilon"))}});
  y = at.onnx.between(at.node, "Reshape", {y, at.onnx.between(at.node, "Shape", {x})});
  const Integers by_channel = is_image ? Integers{channels, 1, 1} : Integers{channels};
  const auto parameter = [&](std::size_t i) {
    return at.onnx.between(at.node, "Reshape", {at.x(i), at.onnx.constant(at.node, integers(by_channel))});
  };
  y = at.onnx.between(at.node, "Mul", {y, parameter(1)});
  at.onnx.last(at.node, "Add", {y, parameter(2)}, {}, is_image);
}

void strided_slice(const At& at) {
  const Integers& start = at.attributes.integers("start");
  const Integers& stride = at.attributes.integers("stride");
  const Integers& size = at.attributes.integers("size");
  if (start[0] != 0 || stride[0] != 1 || size[0] != at.shape()[0]) at.onnx.refuse(at.node, "a slice of the rows");
  Integers begin = at.reordered(start), step = at.reordered(stride), end = at.reordered(size), axes;
  for (std::size_t i = 0; i < end.size(); ++i) {
    end[i] = begin[i] + (end[i] - 1) * step[i] + 1;
    axes.push_back(static_cast<std::int64_t>(i));
  }
  const auto without_rows = [&](const Integers& list) {
    return at.onnx.constant(at.node, integers(Integers(list.begin() + 1, list.end())));
  };
  at.last("Slice", {at.x(), without_rows(begin), without_rows(end), without_rows(axes), without_rows(step)});
}

void pad(const At& at) {
  Integers pads = at.reordered(at.attributes.integers("low"));
  const Integers high = at.reordered(at.attributes.integers("high"));
  pads.insert(pads.end(), high.begin(), high.end());
  at.last("Pad", {at.x(), at.onnx.constant(at.node, integers(pads)), at.scalar(at.attributes.real("value"))});
}

// An extent of 1 leaves the rows as they are.
void broadcast_to(const At& at) {
  Integers shape = at.attributes.integers("shape");
  if (shape.size() != static_cast<std::size_t>(at.shape().rank()) || shape[0] != at.shape()[0]) {
    at.onnx.refuse(at.node, "new rows or axes");
  }
  shape = at.reordered(shape);
  shape[0] = 1;
  at.last("Expand", {at.x(), at.onnx.constant(at.node, integers(shape))});
}

struct Row {
  std::string_view op;
  void (*write)(const At& at);  // nullptr: the op only has another name there
  const char* name = nullptr;
};
constexpr std::array<Row, 45> kRows{{
    {"conv2d", conv2d},
    {"conv2d_bwd_data", conv_transpose},
    {"dense", dense},
    {"max_pool", max_pool},
    {"avg_pool", avg_pool},
    {"batch_norm_eval", batch_norm},
    {"lrn", lrn},
    {"image_tail", image_tail},
    {"flatten", flatten},
    {"reduce_mean", reduce_mean},
    {"reduce_sum", reduce_sum},
    {"reduce_max", reduce_max},
    {"constant", constant},
    {"scale", scale},
    {"relu6", relu6},
    {"silu", silu},
    {"gelu", gelu},
    {"softmax", softmax},
    {"matmul", matmul},
    {"concat", concat},
    {"split", split},
    {"reshape", reshape},
    {"transpose", transpose},
    {"gather", gather},
    {"layer_norm", layer_norm},
    {"group_norm", group_norm},
    {"strided_slice", strided_slice},
    {"pad", pad},
    {"broadcast_to", broadcast_to},
    {"add", nullptr, "Add"},
    {"sub", nullptr, "Sub"},
    {"mul", nullptr, "Mul"},
    {"div", nullptr, "Div"},
    {"maximum", nullptr, "Max"},
    {"minimum", nullptr, "Min"},
    {"neg", nullptr, "Neg"},
    {"abs", nullptr, "Abs"},
    {"exp", nullptr, "Exp"},
    {"log", nullptr, "Log"},
    {"sqrt", nullptr, "Sqrt"},
    {"floor", nullptr, "Floor"},
    {"relu", nullptr, "Relu"},
    {"sigmoid", nullptr, "Sigmoid"},
    {"tanh", nullptr, "Tanh"},
    {"sin", nullptr, "Sin"},
}};

}  // namespace

void OnnxGraph::add(const Node& node) {
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.op == node.op; });
  if (row == kRows.end()) refuse(node, "no counterpart");
  const Attributes attributes = complete_attributes(op_def(node.op), node.attributes);
  const At at{*this, node, attributes};
  for (const ValueId id : node.inputs) {
    if (!by_rows(id)) continue;
    for (const ValueId output : node.outputs) set_by_rows(output);
  }
  if (row->write != nullptr)
    row->write(at);
  else
    elementwise(at, row->name);
}

const std::string& OnnxGraph::name(ValueId id) const {
  const std::string& name = values_[static_cast<std::size_t>(id)].name;
  if (name.empty()) throw Error("[onnx] a result besides the first of its op is used, which has no counterpart");
  return name;
}

std::string OnnxGraph::between(const Node& of, const std::string& op, Names inputs, const OnnxAttributes& attributes) {
  const std::string name = of.name + ":" + std::to_string(++made_);
  writer_.node(op, inputs, Names{name}, name, attributes);
  return name;
}

void OnnxGraph::last(const Node& of, const std::string& op, Names inputs, const OnnxAttributes& attributes, bool image,
                     std::size_t results) {
  Names names;
  for (std::size_t i = 0; i < results; ++i) names.push_back(of.name + ":y" + (i > 0 ? std::to_string(i) : ""));
  writer_.node(op, inputs, names, of.name, attributes);
  for (std::size_t i = 0; i < results; ++i) set_name(of.outputs[i], names[i], image);
}

const std::string& OnnxGraph::here(ValueId id) { return is_image(id) ? turned(id, false) : name(id); }

const std::string& OnnxGraph::image(ValueId id) { return is_image(id) ? name(id) : turned(id, true); }

const std::string& OnnxGraph::turned(ValueId id, bool to_image) {
  std::string& turned = values_[static_cast<std::size_t>(id)].turned;
  if (!turned.empty()) return turned;
  const std::string from = name(id);
  turned = from + (to_image ? ":nchw" : ":nhwc");
  const Integers permutation = to_image ? Integers{0, 3, 1, 2} : Integers{0, 2, 3, 1};
  writer_.node("Transpose", Names{from}, Names{turned}, turned, {{"perm", permutation}});
  return turned;
}

std::string OnnxGraph::constant(const Node& of, const Tensor& value) {
  const std::string name = of.name + ":" + std::to_string(++made_);
  writer_.initializer(name, value);
  return name;
}

void OnnxGraph::refuse(const Node& node, const std::string& why) const {
  throw Error("[onnx] " + node.name + " (" + node.op + ") cannot be written: " + why);
}

}  // namespace ridgeline::infer
