// ridgeline/image/resample/resample.h
//
// Resizing by Pillow's rule (src/libImaging/Resample.c): half-pixel centres, a filter that widens when shrinking
// (antialiasing), weights in double normalised and rounded to 22 bits, first across, then down, with an 8-bit rounded
// image between. That is the rule of Pillow 9 to 12; Pillow 13 rounds some pixels otherwise. The vector code gives the
// bits of the plain code. Training and evaluation both use it. Filters named after another system follow that one's
// rule.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ridgeline/image/image.h"
#include "ridgeline/image/resample/filter.h"
#include "ridgeline/image/resample/opencv.h"
#include "ridgeline/image/resample/passes.h"

namespace ridgeline::image {

// A rectangle with fractional borders, as Pillow's resize(box=...).
struct FloatBox {
  float left = 0, top = 0, right = 0, bottom = 0;
};

struct ResizeSpec {
  Size in;   // of the whole source
  Size out;  // of the whole result
  Filter filter = Filter::bilinear;
  // The rectangle of the source that is mapped to the result (default: all of it). Filters still read pixels around it.
  // Only Pillow's filters and tf1_bilinear have it.
  std::optional<FloatBox> box = std::nullopt;
  // The rectangle of the result that is wanted (default: all of it): a centre crop after a resize costs only its own
  // pixels.
  std::optional<Box> window = std::nullopt;
};

// Takes the rows of a result one after the other, while they are in cache.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // width * channels bytes, valid during the call.
  virtual void take(int y, const std::uint8_t* row) = 0;
};

// Not thread-safe; reuses its buffers from call to call.
class Resizer {
 public:
  // Prepares the weights; an Error for empty or absurd sizes. Cheap when `spec` only repeats the last one's numbers.
  void prepare(const ResizeSpec& spec);
  // The pixels of the source that run() reads: a decoder can decode just these.
  Box source() const { return source_; }
  // The size that run() writes: the window's, or spec.out.
  Size result() const { return {window_.height, window_.width}; }
  // `part` is the rectangle source() of the image, 1 to 4 channels; writes result() rows of width * channels bytes.
  void run(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride);
  // The same pixels, row by row from the top.
  void run(const ImageView& part, RowSink& sink);

  // prepare and run on a whole image.
  void resize(const ImageView& image, const ResizeSpec& spec, std::uint8_t* out, std::ptrdiff_t out_stride);

  // For each output position: the first source position, the number of weights, and the weights, `taps` entries each.
  struct Axis {
    bool needed = false;  // false: this axis is copied
    int taps = 0;
    std::vector<int> first, count;
    std::vector<std::int32_t> weight;  // 22-bit fixed point
    std::vector<float> fraction;       // tf1_bilinear: the weight of the second position
  };

 private:
  void check(const ImageView& part) const;
  bool copies() const { return !across_.needed && !down_.needed; }
  bool two_passes() const;  // whether by weights: Pillow's rule and torch's
  // Pillow's rule and torch's: the image after the first pass, and one row of the second.
  ImageView run_across(const ImageView& part);
  void run_down(const ImageView& between, int y, std::uint8_t* out);
  void run_nearest(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) const;
  void run_tf1(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) const;

  ResizeSpec spec_;
  bool prepared_ = false;
  Box source_;
  Box window_;
  Axis across_, down_;
  AcrossForms across_forms_;
  DownForms down_forms_;
  OpencvResampler opencv_;
  std::vector<std::uint8_t> between_, row_;
};

// Resizes a whole image, for a single use.
Image resize(const ImageView& image, Size out, Filter filter = Filter::bilinear);
Image resize(const ImageView& image, const ResizeSpec& spec);

}  // namespace ridgeline::image
