// ridgeline/device/cpu/pixels/columns.h
//
// Gathers what pixels of y see of x, [r, s, c], into rows of panels: a range of those columns, copied in runs that are
// contiguous in x. Belongs to one kernel; once made, any thread may gather.
#pragma once

#include <vector>

#include "ridgeline/device/cpu/lines.h"
#include "ridgeline/device/cpu/pixels/pixels.h"
#include "ridgeline/device/cpu/products/products.h"

namespace ridgeline::device::pixels {

class Columns {
 public:
  // `count` columns from `first` on, in panels of `width` that are `panel` floats apart.
  Columns(const Pixels& p, std::int64_t first, std::int64_t count, std::int64_t width, std::int64_t panel);

  // Gathers for `pixels` pixels from `pixel` on, f32 or bf16; zeros where they see beyond the image.
  template <class Value>
  void gather(const Value* x, std::int64_t pixel, std::int64_t pixels, float* to) const;

  // Appends to `lines` what those pixels read and the ones before them did not.
  template <class Value>
  void append_lines(const Value* x, std::int64_t pixel, std::int64_t pixels, LineVector<products::Lines>& lines) const;

 private:
  struct Run {
    std::int64_t r, s;
    std::int64_t from;  // offset in x from the start of the pixel's window
    std::int64_t to;
    std::int64_t count;
  };
  // The offset in x of a pixel's window.
  std::int64_t begin_of(std::int64_t pixel) const;

  Pixels p_;
  const products::ProductCode& code_ = products::product_code();
  std::int64_t first_, count_, width_;
  std::vector<Run> inside_;  // for pixels that see no border
  std::vector<Run> border_;  // tap by tap
};

}  // namespace ridgeline::device::pixels
