// ridgeline/image/normalize.h
//
// The end of the input pipeline, u8 to f32: convert, flip, normalise. Defined once: the data workers and the training
// step's image_tail op both use it, with the same bits. Immutable after construction: any thread may use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ridgeline/image/image.h"

namespace ridgeline::image {

// ImageNet's, as fractions of 255.
inline constexpr std::array<double, 3> kImagenetMean = {0.485, 0.456, 0.406};
inline constexpr std::array<double, 3> kImagenetStd = {0.229, 0.224, 0.225};

// How a row is stored. `streamed` bypasses the caches if the row is aligned to the widest vector (else it is `cached`):
// for results that are written once and read much later by others. The writer calls finish_streamed() before another
// thread reads them.
enum class Stores { cached, streamed };
void finish_streamed();

class NormalizeTable {
 public:
  // Entry v of channel c is (v - 255*mean[c]) / (255*std[c]), computed in double in that order and rounded once to f32.
  // Error for a std that is not positive and finite.
  NormalizeTable(const std::array<double, 3>& mean, const std::array<double, 3>& std);

  float at(int channel, std::uint8_t v) const { return table_[static_cast<std::size_t>(channel) * 256 + v]; }
  // Whether two multiply-adds give every entry (see Line): then rows are computed, which is faster than a look-up.
  bool is_line() const { return is_line_; }
  // u8 HWC (3 channels) to f32 HWC without gaps, mirrored left to right when `flip`. out: height * width * 3.
  void tail(const ImageView& image, bool flip, float* out) const;
  // One row of it: width * 3 values.
  void row(const std::uint8_t* in, std::size_t width, bool flip, float* out, Stores stores = Stores::cached) const;
  // The same row to three planes (CHW): channel c begins at out[c * plane].
  void planar_row(const std::uint8_t* in, std::size_t width, bool flip, float* out, std::size_t plane,
                  Stores stores = Stores::cached) const;

  using Table = std::array<float, 3 * 256>;
  // With d = v - centre, which is exact: d * high + (d * low + rest), each rounded once. high + low is the scale to 48
  // bits, rest the scaled distance of the centre from the mean.
  struct Line {
    // Index i is for channel i % 3: as many values as three of the longest vectors hold.
    static constexpr std::size_t kRepeated = 48;
    std::array<float, kRepeated> centre, high, low, rest;
  };

 private:
  Table table_;
  Line line_;
  bool is_line_ = true;  // holds for every entry of the table
};

}  // namespace ridgeline::image
