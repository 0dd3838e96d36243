// ridgeline/infer/preprocess.h
//
// Turns an encoded image into the square that a model classifies: the same bits as evaluation with the data engine, but
// one image at a time and without the engine. Normalisation is not included: it is the first op of the graph
// (image_tail).
#pragma once

#include <cstdint>
#include <span>

#include "ridgeline/image/decode.h"
#include "ridgeline/image/resample/resample.h"

namespace ridgeline::infer {

// How an image becomes the square that is classified.
enum class ResizeRule {
  exact,       // both sides to `resize`, the aspect ratio ignored
  short_side,  // the short side to `resize`, the aspect ratio kept
};
struct EvaluationTransform {
  ResizeRule rule = ResizeRule::short_side;
  int resize = 256;  // if equal to `crop` with rule exact: an image of that size is used unchanged
  int crop = 224;    // the central square
  image::ExifOrientation exif_orientation = image::ExifOrientation::ignore;  // whether to turn upright first
  friend bool operator==(const EvaluationTransform&, const EvaluationTransform&) = default;
};

// One thread; reuses its buffers.
class Preprocessor {
 public:
  // An Error unless 1 <= crop <= resize <= 2^20.
  explicit Preprocessor(const EvaluationTransform& transform);

  const EvaluationTransform& transform() const { return transform_; }
  // Bytes of one result: crop * crop * 3.
  std::size_t result_bytes() const;
  // JPEG, PNG, WebP or BMP; of a JPEG only the pixels that the crop needs are decoded. Errors are the decoder's.
  void run(std::span<const std::uint8_t> encoded, std::uint8_t* out);

 private:
  EvaluationTransform transform_;
  image::Decoder decoder_;
  image::Resizer resizer_;
};

}  // namespace ridgeline::infer
