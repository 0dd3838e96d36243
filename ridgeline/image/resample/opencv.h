// ridgeline/image/resample/opencv.h
//
// Resizing by OpenCV's rule for 8-bit images (modules/imgproc/src/resize.cpp, 4.x): what MindData's Resize does. Used
// through Resizer; private to this folder. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "ridgeline/image/image.h"
#include "ridgeline/image/resample/filter.h"
#include "ridgeline/image/resample/opencv_plan.h"

namespace ridgeline::image {

class OpencvResampler {
 public:
  // Prepares the positions and weights of one of the opencv_* filters; returns the pixels of the source that run()
  // reads for the rectangle `window` of the result.
  Box prepare(Filter filter, Size in, Size out, Box window);
  // `part`: those pixels of the source, 1 to 4 channels.
  void run(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride);

 private:
  void run_nearest(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) const;
  void run_weighted(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride);
  void run_mean(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) const;
  void run_area(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride);
  const std::int32_t* weighted_row(const ImageView& part, int row);
  const float* area_row(const ImageView& part, int row);

  OpencvRule rule_ = OpencvRule::copy;
  OpencvAxis across_, down_;
  std::vector<std::int32_t> weighted_rows_;  // the last four source rows, resized across
  std::vector<float> area_row_, sum_;
  int held_[4] = {-1, -1, -1, -1};
};

}  // namespace ridgeline::image
