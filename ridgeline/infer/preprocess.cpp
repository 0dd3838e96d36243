#include "ridgeline/infer/preprocess.h"

#include "ridgeline/core/error.h"
#include "ridgeline/image/geometry.h"

namespace ridgeline::infer {
namespace {

constexpr int kLargestSide = 1 << 20;  // the resizer's

}  // namespace

Preprocessor::Preprocessor(const EvaluationTransform& transform) : transform_(transform) {
  if (transform.crop < 1 || transform.crop > transform.resize || transform.resize > kLargestSide) {
    throw Error("[preprocess] resize " + std::to_string(transform.resize) + " and crop " +
                std::to_string(transform.crop) + "; 1 <= crop <= resize <= 2^20 is meant");
  }
}

std::size_t Preprocessor::result_bytes() const {
  const auto side = static_cast<std::size_t>(transform_.crop);
  return side * side * 3;
}

void Preprocessor::run(std::span<const std::uint8_t> encoded, std::uint8_t* out) {
  const image::Size in = image::size_of_picture(encoded, transform_.exif_orientation);
  const image::Size resized = transform_.rule == ResizeRule::exact ? image::Size{transform_.resize, transform_.resize}
                                                                   : image::resized_short_side(in, transform_.resize);
  const image::CenterCrop crop = image::center_crop(resized, {transform_.crop, transform_.crop});
  resizer_.prepare({.in = in, .out = resized, .window = crop.box});
  const image::ImageView part =
      decoder_.decode_region(encoded, resizer_.source(), nullptr, nullptr, transform_.exif_orientation);
  resizer_.run(part, out, static_cast<std::ptrdiff_t>(transform_.crop) * 3);
}

}  // namespace ridgeline::infer
