// ridgeline/image/resample_opencv.h
//
// Resizing by OpenCV's law for 8-bit images (modules/imgproc/src/resize.cpp, 4.x): what MindData's Resize does. Used
// through Resizer; private to this folder. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "ridgeline/image/filter.h"
#include "ridgeline/image/image.h"

namespace ridgeline::image {

class OpencvResampler {
 public:
  // Prepares the positions and weights of one of the opencv_* filters; returns the pixels of the source that run()
  // reads for the result's part `window`.
  Box prepare(Filter filter, Size in, Size out, Box window);
  // `part`: that rectangle of the source, 1 to 4 channels.
  void run(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride);

 private:
  // What a filter comes to for given sizes.
  enum class Law { copy, nearest, linear, cubic, mean, area };

  // For each result position: the first source position (relative to the part), the number of taps, their weights,
  // `taps` places each.
  struct Axis {
    int taps = 1;
    std::vector<int> first, count;
    std::vector<std::int32_t> weight;  // linear, cubic: 11-bit fixed point
    std::vector<float> share;          // area
    int begin = 0, size = 0;           // the part of the source that is touched
  };

  static Law law_of(Filter filter, Size in, Size out);
  static Axis axis_of(Law law, bool area_grid, int in, int out, int begin, int end);
  static void nearest_axis(int in, double scale, int begin, int end, Axis& axis);
  static void weighted_axis(Law law, bool area_grid, int in, double scale, double inverse, int begin, int end,
                            Axis& axis);
  static void area_axis(int in, double scale, int begin, int end, Axis& axis);

  void run_nearest(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) const;
  void run_weighted(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride);
  void run_mean(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) const;
  void run_area(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride);
  const std::int32_t* weighted_row(const ImageView& part, int row);
  const float* area_row(const ImageView& part, int row);

  Law law_ = Law::copy;
  Axis across_, down_;
  std::vector<std::int32_t> weighted_rows_;  // the last four source rows, resized across
  std::vector<float> area_row_, sum_;
  int held_[4] = {-1, -1, -1, -1};
};

}  // namespace ridgeline::image
