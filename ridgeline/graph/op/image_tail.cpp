#include "ridgeline/graph/op/image_tail.h"

#include "ridgeline/graph/op/rules.h"
#include "ridgeline/image/normalize.h"

namespace ridgeline {
namespace {

using namespace rules;

std::array<double, 3> three(const Attributes& attributes, std::string_view name) {
  const Reals& values = attributes.reals(name);
  if (values.size() != 3) {
    fail("image_tail", "attribute '" + std::string(name) + "' needs one value for each of the 3 channels");
  }
  return {values[0], values[1], values[2]};
}

std::vector<ValueType> infer_image_tail(const OpInstance& op) {
  expect_dtype("image_tail", "image", op.inputs[0], DType::u8);
  expect_rank("image_tail", "image", op.inputs[0], 4);
  const Shape& image = op.inputs[0].shape;
  if (image[3] != 3) fail("image_tail", "image " + image.to_string() + " must have 3 channels");
  if (op.inputs.size() == 2) {
    expect_dtype("image_tail", "flip", op.inputs[1], DType::u8);
    expect_shape("image_tail", "flip", op.inputs[1], Shape{image[0]});
  }
  three(op.attributes, "mean");
  for (double s : three(op.attributes, "std")) {
    if (!(s > 0)) fail("image_tail", "std=" + to_string(Attribute(op.attributes.reals("std"))) + " must be positive");
  }
  const DType dtype = op.attributes.dtype("dtype");
  if (dtype != DType::f32 && dtype != DType::bf16 && dtype != DType::f16) {
    fail("image_tail", "attribute 'dtype' = " + std::string(name_of(dtype)) + " (allowed: f32, bf16, f16)");
  }
  return {{dtype, image}};
}

void reference_image_tail(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const image::NormalizeTable table(three(op.attributes, "mean"), three(op.attributes, "std"));
  const Shape& shape = op.inputs[0].shape;
  const std::uint8_t* pixels = inputs[0].data<std::uint8_t>();
  for_each_index(shape, [&](std::int64_t at, const Integers& i) {
    const bool flip = inputs.size() == 2 && inputs[1].data<std::uint8_t>()[i[0]] != 0;
    const std::int64_t column = flip ? shape[2] - 1 - i[2] : i[2];
    const std::uint8_t pixel = pixels[((i[0] * shape[1] + i[1]) * shape[2] + column) * 3 + i[3]];
    outputs[0].set(at, static_cast<double>(table.at(static_cast<int>(i[3]), pixel)));
  });
}

}  // namespace

OpDef image_tail_op() {
  OpDef def;
  def.name = "image_tail";
  def.formula =
      "y = (v - 255*mean) / (255*std) for each byte v, computed in f32 and rounded once to the type of y; images whose "
      "flip is not 0 are mirrored left to right. image u8 [N,H,W,3], flip u8 [N], y [N,H,W,3]";
  def.operands = {"image", "flip"};
  def.min_operands = 1;
  def.max_operands = 2;
  def.results = {"y"};
  def.attributes = {required("mean", Reals(image::kImagenetMean.begin(), image::kImagenetMean.end()),
                             "one per channel, as a fraction of 255"),
                    required("std", Reals(image::kImagenetStd.begin(), image::kImagenetStd.end()),
                             "one per channel, as a fraction of 255"),
                    optional("dtype", DType::f32, "the element type of y: f32, bf16 or f16")};
  def.infer = infer_image_tail;
  def.reference = reference_image_tail;
  return def;
}

}  // namespace ridgeline
