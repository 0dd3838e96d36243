#include "ridgeline/graph/op/conv2d_max_pool.h"

#include <array>
#include <utility>

#include "ridgeline/graph/op/rules.h"
#include "ridgeline/graph/op/window.h"

namespace ridgeline {
namespace {

using namespace rules;

// Those of conv2d have their own names, those of max_pool these.
constexpr std::array<const char*, 5> kOfConvolution = {"stride", "pad", "dilation", "groups", "activation"};
constexpr std::array<std::pair<const char*, const char*>, 3> kOfPooling = {
    {{"kernel", "pool_kernel"}, {"stride", "pool_stride"}, {"pad", "pool_pad"}}};

std::vector<ValueType> infer_conv2d_max_pool(const OpInstance& op) {
  const ValueType image = convolution_result(op);
  return op_def("max_pool").infer({std::span(&image, 1), pooling_part(op.attributes), op.name});
}

void reference_conv2d_max_pool(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const ValueType type = convolution_result(op);
  Tensor image(type.dtype, type.shape);
  op_def("conv2d").reference({op.inputs, convolution_part(op.attributes), op.name}, inputs, std::span(&image, 1));
  op_def("max_pool")
      .reference({std::span(&type, 1), pooling_part(op.attributes), op.name}, std::span(&image, 1), outputs);
}

Cost cost(const OpInstance& op, std::span<const ValueType> results) {
  const ValueType image = convolution_result(op);
  const Cost convolution =
      op_def("conv2d").cost({op.inputs, convolution_part(op.attributes), op.name}, std::span(&image, 1));
  return {convolution.flops, bytes_moved(op, results)};
}

// The gradients have the operands of the convolution's and the index after dy.
bool to_data(const OpInstance& op) { return op.attributes.has("input"); }
const OpDef& plain_op(const OpInstance& op) { return op_def(to_data(op) ? "conv2d_bwd_data" : "conv2d_bwd_weights"); }
std::size_t dy_at(const OpInstance& op) { return to_data(op) ? 0 : 1; }

}  // namespace

Attributes convolution_part(const Attributes& attributes) {
  Attributes part;
  for (const char* name : kOfConvolution) part.set(name, *attributes.find(name));
  part.set("f32_results", false);
  return part;
}

Attributes pooling_part(const Attributes& attributes) {
  Attributes part;
  for (const auto& [name, here] : kOfPooling) part.set(name, *attributes.find(here));
  return part;
}

Attributes conv2d_max_pool_attributes(const Attributes& convolution, const Attributes& pooling) {
  Attributes both;
  for (const char* name : kOfConvolution) both.set(name, *convolution.find(name));
  for (const auto& [name, here] : kOfPooling) both.set(here, *pooling.find(name));
  return both;
}

ValueType convolution_result(const OpInstance& op) {
  return op_def("conv2d").infer({op.inputs, convolution_part(op.attributes), op.name})[0];
}

Attributes pooled_gradient_attributes(const Attributes& convolution, const Attributes& pooling) {
  Attributes both = convolution;
  for (const char* name : {"kernel", "stride", "pad"}) both.set(std::string("pool_") + name, *pooling.find(name));
  return both;
}

ValueType convolution_gradient(const OpInstance& op) {
  const std::size_t at = dy_at(op);
  const Shape image =
      to_data(op) ? shape_attribute(op.name, "input", op.attributes.integers("input")) : op.inputs[0].shape;
  if (image.rank() != 4) fail(op.name, "attribute 'input' must have rank 4, not " + image.to_string());
  const Integers kernel =
      to_data(op) ? Integers{op.inputs[2].shape[1], op.inputs[2].shape[2]} : op.attributes.integers("kernel");
  if (kernel.size() != 2) fail(op.name, "attribute 'kernel' must be [height, width]");
  const auto sizes = output_sizes(op.name, window_of(op.name, op.attributes, kernel[0], kernel[1]), image);
  return {op.inputs[at].dtype, {image[0], sizes[0], sizes[1], op.inputs[at].shape[3]}};
}

namespace {

Attributes plain_part(const Attributes& attributes) {
  Attributes part;
  for (const auto& [name, value] : attributes) {
    if (!name.starts_with("pool_")) part.set(name, value);
  }
  return part;
}

// Both ops separately, over types and then over values.
struct Apart {
  ValueType gradient;
  std::vector<ValueType> pool_inputs, inputs;
  Attributes pooling, convolution;

  explicit Apart(const OpInstance& op)
      : gradient(convolution_gradient(op)),
        pooling(pooling_part(op.attributes)),
        convolution(plain_part(op.attributes)) {
    const std::size_t at = dy_at(op);
    pooling.set("input", gradient.shape.dims());
    pool_inputs = {op.inputs[at], op.inputs[at + 1]};
    inputs.assign(op.inputs.begin(), op.inputs.end());
    inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    inputs[at] = gradient;
  }
  OpInstance pool(const OpInstance& op) const { return {pool_inputs, pooling, op.name}; }
  OpInstance plain(const OpInstance& op) const { return {inputs, convolution, op.name}; }
};

std::vector<ValueType> infer_gradient(const OpInstance& op) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    expect_rank(op.name, "operand " + std::to_string(i), op.inputs[i], 4);
  }
  const Apart apart(op);
  op_def("max_pool_bwd").infer(apart.pool(op));
  return plain_op(op).infer(apart.plain(op));
}

void gradient_reference(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Apart apart(op);
  const std::size_t at = dy_at(op);
  Tensor gradient(apart.gradient.dtype, apart.gradient.shape);
  op_def("max_pool_bwd").reference(apart.pool(op), inputs.subspan(at, 2), std::span(&gradient, 1));
  std::vector<Tensor> operands(inputs.begin(), inputs.end());
  operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  operands[at] = gradient;
  plain_op(op).reference(apart.plain(op), operands, outputs);
}

Cost gradient_cost(const OpInstance& op, std::span<const ValueType> results) {
  return {plain_op(op).cost(Apart(op).plain(op), results).flops, bytes_moved(op, results)};
}

std::vector<AttributeSpec> pooled_attributes_and(std::vector<AttributeSpec> more) {
  std::vector<AttributeSpec> specs = {
      optional("stride", Integers{1, 1}, "vertical, horizontal step of the convolution in pixels"),
      optional("pad", Integers{0, 0, 0, 0}, "zeros at top, bottom, left, right, in pixels"),
      optional("dilation", Integers{1, 1}, "vertical, horizontal distance between kernel elements"),
      optional("groups", std::int64_t{1}, "number of channel groups, which are convolved separately"),
      required("pool_kernel", Integers{3, 3}, "height and width of the window"),
      required("pool_stride", Integers{2, 2}, "vertical, horizontal step of the window"),
      optional("pool_pad", Integers{0, 0, 0, 0}, "padding of the pooling windows in pixels: top, bottom, left, right"),
      f32_results(),
  };
  for (AttributeSpec& spec : more) specs.push_back(std::move(spec));
  return specs;
}

}  // namespace

std::vector<OpDef> conv2d_max_pool_ops() {
  OpDef forward;
  forward.name = "conv2d_max_pool";
  forward.made_of = "conv2d";
  forward.formula = "y, index = max_pool(conv2d(x, w, b)); the convolution is rounded to the type of x";
  forward.operands = {"x", "w", "b"};
  forward.min_operands = 2;
  forward.max_operands = 3;
  forward.results = {"y", "index"};
  forward.attributes = {
      optional("stride", Integers{1, 1}, "vertical, horizontal step of the convolution in pixels"),
      optional("pad", Integers{0, 0, 0, 0}, "zeros at top, bottom, left, right, in pixels"),
      optional("dilation", Integers{1, 1}, "vertical, horizontal distance between kernel elements"),
      optional("groups", std::int64_t{1}, "number of channel groups, which are convolved separately"),
      optional("activation", std::string("none"), "none or relu, applied to the convolution"),
      required("pool_kernel", Integers{3, 3}, "height and width of the window"),
      required("pool_stride", Integers{2, 2}, "vertical, horizontal step of the window"),
      optional("pool_pad", Integers{0, 0, 0, 0}, "padding of the pooling windows in pixels: top, bottom, left, right"),
  };
  forward.infer = infer_conv2d_max_pool;
  forward.reference = reference_conv2d_max_pool;
  forward.cost = cost;

  OpDef data;
  data.name = "conv2d_max_pool_bwd_data";
  data.made_of = "conv2d_bwd_data";
  data.formula =
      "dx = conv2d_bwd_data(max_pool_bwd(dy, index), w, gate); the gradient of the pool is rounded to the type of dy";
  data.operands = {"dy", "index", "w", "gate"};
  data.min_operands = 3;
  data.max_operands = 4;
  data.results = {"dx"};
  data.attributes =
      pooled_attributes_and({required("input", Integers{1, 224, 224, 3}, "shape of the image, [N,H,W,C]")});

  OpDef weights;
  weights.name = "conv2d_max_pool_bwd_weights";
  weights.made_of = "conv2d_bwd_weights";
  weights.formula =
      "dw, db = conv2d_bwd_weights(x, max_pool_bwd(dy, index)); the gradient of the pool is rounded to the type of dy";
  weights.operands = {"x", "dy", "index"};
  weights.min_operands = weights.max_operands = 3;
  weights.results = {"dw", "db"};
  weights.attributes = pooled_attributes_and({required("kernel", Integers{3, 3}, "height and width of the kernel"),
                                              optional("bias", false, "whether db is a second result")});
  for (OpDef* def : {&data, &weights}) {
    def->infer = infer_gradient;
    def->reference = gradient_reference;
    def->cost = gradient_cost;
  }
  return {forward, data, weights};
}

}  // namespace ridgeline
