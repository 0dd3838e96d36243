#include "ridgeline/graph/op/conv2d_max_pool.h"

#include <array>
#include <utility>

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

// Those of conv2d have their own names, those of max_pool these.
constexpr std::array<const char*, 5> kOfConvolution = {"stride", "pad", "dilation", "groups", "activation"};
constexpr std::array<std::pair<const char*, const char*>, 3> kOfPooling = {
    {{"kernel", "pool_kernel"}, {"stride", "pool_stride"}, {"pad", "pool_pad"}}};

std::vector<ValueType> infer(const OpInstance& op) {
  const ValueType image = convolution_result(op);
  return op_def("max_pool").infer({std::span(&image, 1), pooling_part(op.attributes), op.name});
}

void reference(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
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

OpDef conv2d_max_pool_op() {
  OpDef def;
  def.name = "conv2d_max_pool";
  def.formula = "y, index = max_pool(conv2d(x, w, b)), rounded to the type of x in between";
  def.operands = {"x", "w", "b"};
  def.min_operands = 2;
  def.max_operands = 3;
  def.results = {"y", "index"};
  def.attributes = {
      optional("stride", Integers{1, 1}, "of the convolution, as all up to activation"),
      optional("pad", Integers{0, 0, 0, 0}, "zeros at top, bottom, left, right, in pixels"),
      optional("dilation", Integers{1, 1}, "vertical, horizontal distance of kernel elements"),
      optional("groups", std::int64_t{1}, "channel groups that do not see each other"),
      optional("activation", std::string("none"), "none or relu, applied to the convolution"),
      required("pool_kernel", Integers{3, 3}, "height and width of the window"),
      required("pool_stride", Integers{2, 2}, "vertical, horizontal step of the window"),
      optional("pool_pad", Integers{0, 0, 0, 0}, "pixels around the convolution's result that no window takes"),
  };
  def.infer = infer;
  def.reference = reference;
  def.cost = cost;
  return def;
}

}  // namespace ridgeline
