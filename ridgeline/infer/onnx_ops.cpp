#include "ridgeline/infer/onnx_ops.h"

#include <algorithm>
#include <array>

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
  // Result 0, with the activation that the op may have taken in.
  void with_activation(const std::string& op, const Names& inputs, const OnnxAttributes& given = {}) const {
    if (attributes.string("activation") == "none") return onnx.last(node, op, inputs, given);
    onnx.last(node, "Relu", {onnx.between(node, op, inputs, given)});
  }
};

void conv2d(const At& at) {
  const Shape& w = at.shape(1);
  at.with_activation("Conv", at.inputs(),
                     {{"dilations", at.attributes.integers("dilation")},
                      {"group", at.attributes.integer("groups")},
                      {"kernel_shape", Integers{w[1], w[2]}},
                      {"pads", at.pads()},
                      {"strides", at.attributes.integers("stride")}});
}

void dense(const At& at) { at.with_activation("Gemm", at.inputs(), {{"transB", std::int64_t{1}}}); }

void pool(const At& at, const std::string& op, OnnxAttributes more) {
  more["kernel_shape"] = at.attributes.integers("kernel");
  more["strides"] = at.attributes.integers("stride");
  more["pads"] = at.pads();
  at.onnx.last(at.node, op, {at.x()}, more);
}
void max_pool(const At& at) { pool(at, "MaxPool", {}); }
void avg_pool(const At& at) {
  pool(at, "AveragePool", {{"count_include_pad", std::int64_t{at.attributes.boolean("count_include_pad")}}});
}

void batch_norm(const At& at) {
  if (at.node.inputs.size() > 5 || at.attributes.boolean("var_is_inv_std")) {
    at.onnx.refuse(at.node, "a form that only the compiler makes");
  }
  at.with_activation("BatchNormalization", at.inputs(),
                     {{"epsilon", static_cast<float>(at.attributes.real("epsilon"))}});
}

void lrn(const At& at) {
  at.onnx.last(at.node, "LRN", {at.x()},
               {{"size", at.attributes.integer("size")},
                {"alpha", static_cast<float>(at.attributes.real("alpha"))},
                {"beta", static_cast<float>(at.attributes.real("beta"))},
                {"bias", static_cast<float>(at.attributes.real("bias"))}});
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
  at.onnx.last(at.node, "Div", {v, at.onnx.constant(at.node, std)});
}

void flatten(const At& at) {
  std::string x = at.x();
  if (at.attributes.string("order") == "hwc") {
    x = at.onnx.between(at.node, "Transpose", {x}, {{"perm", Integers{0, 2, 3, 1}}});
  }
  at.onnx.last(at.node, "Flatten", {x}, {{"axis", std::int64_t{1}}});
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
  at.onnx.last(at.node, op, {at.x(), at.onnx.constant(at.node, integers(axes))}, {{"keepdims", std::int64_t{keep}}});
}
void reduce_mean(const At& at) { reduce(at, "ReduceMean"); }
void reduce_sum(const At& at) { reduce(at, "ReduceSum"); }
void reduce_max(const At& at) { reduce(at, "ReduceMax"); }

// Operands broadcast alike in both orders where an image meets images and scalars only.
void elementwise(const At& at, const std::string& op) {
  bool images = false, others = false;
  for (std::size_t i = 0; i < at.node.inputs.size(); ++i) {
    if (at.shape(i).rank() != 0) (at.image(i) ? images : others) = true;
  }
  if (images && others) at.onnx.refuse(at.node, "an image beside a tensor of another order");
  at.onnx.last(at.node, op, at.inputs());
}
std::string scalar(const At& at, double value) {
  Tensor constant(at.onnx.type(at.node.outputs[0]).dtype, {});
  constant.set(0, value);
  return at.onnx.constant(at.node, constant);
}

void constant(const At& at) { at.onnx.last(at.node, "Identity", {scalar(at, at.attributes.real("value"))}); }
void scale(const At& at) { at.onnx.last(at.node, "Mul", {at.x(), scalar(at, at.attributes.real("factor"))}); }
void relu6(const At& at) { at.onnx.last(at.node, "Clip", {at.x(), scalar(at, 0), scalar(at, 6)}); }
void silu(const At& at) { at.onnx.last(at.node, "Mul", {at.x(), at.onnx.between(at.node, "Sigmoid", {at.x()})}); }
void gelu(const At& at) {
  at.onnx.last(at.node, "Gelu", {at.x()}, {{"approximate", at.attributes.string("approximate")}});
}
void softmax(const At& at) { at.onnx.last(at.node, "Softmax", {at.x()}, {{"axis", std::int64_t{-1}}}); }

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
  at.onnx.last(at.node, "Slice",
               {at.x(), without_rows(begin), without_rows(end), without_rows(axes), without_rows(step)});
}

void pad(const At& at) {
  Integers pads = at.reordered(at.attributes.integers("low"));
  const Integers high = at.reordered(at.attributes.integers("high"));
  pads.insert(pads.end(), high.begin(), high.end());
  at.onnx.last(at.node, "Pad",
               {at.x(), at.onnx.constant(at.node, integers(pads)), scalar(at, at.attributes.real("value"))});
}

// An extent of 1 leaves the rows as they are.
void broadcast_to(const At& at) {
  Integers shape = at.attributes.integers("shape");
  if (shape.size() != static_cast<std::size_t>(at.shape().rank()) || shape[0] != at.shape()[0]) {
    at.onnx.refuse(at.node, "new rows or axes");
  }
  shape = at.reordered(shape);
  shape[0] = 1;
  at.onnx.last(at.node, "Expand", {at.x(), at.onnx.constant(at.node, integers(shape))});
}

struct Row {
  std::string_view op;
  void (*write)(const At& at);  // nullptr: the op only has another name there
  const char* name = nullptr;
};
constexpr std::array<Row, 36> kRows{{
    {"conv2d", conv2d},
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

void OnnxGraph::last(const Node& of, const std::string& op, Names inputs, const OnnxAttributes& attributes) {
  const std::string name = of.name + ":y";
  writer_.node(op, inputs, Names{name}, of.name, attributes);
  set_name(of.outputs[0], name, shape(of.outputs[0]).rank() == 4);
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
