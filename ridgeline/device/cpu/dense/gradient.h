// ridgeline/device/cpu/dense/gradient.h
//
// The gradient of dense weights, dw = dy^T x, made strip by strip: some rows of it in a range of inputs, whose part of
// x stays in the second cache. Owns nothing but its plan of the scratch memory; after `prepare` any thread may
// multiply.
#pragma once

#include <span>

#include "ridgeline/device/cpu/dense/dense.h"
#include "ridgeline/device/cpu/team_shares.h"

namespace ridgeline::device::dense {

class Gradient {
 public:
  static constexpr std::int64_t kStrip = 2 * kBlockRows;  // rows of dw

  Gradient(const Dense& d, Scratch& scratch);

  // x in panels, dy turned; of f32 or bf16.
  template <class Value>
  void prepare(const Value* x, const Value* dy, float* scratch) const;

  // A strip's inputs and how many there are of such ranges; its rows, `pitch()` floats apart, end in whole vectors.
  std::int64_t range() const { return range_; }
  std::int64_t ranges() const { return parts_of(dense_.inputs, range_); }
  std::int64_t pitch() const { return range_ + kLineFloats; }
  // `rows` rows from `output` on in a range. `ahead` is fetched meanwhile.
  void multiply(std::int64_t output, std::int64_t rows, std::int64_t range, const float* scratch, float* strip,
                std::span<const Lines> ahead) const;

  // item(range, first output, outputs, thread) for parts of the gradient, long enough that most of what a strip asks
  // for is its own.
  template <class Item>
  void for_each_part(const Item& item) const {
    const std::int64_t rows = rows_of_part();
    const std::int64_t groups = parts_of(dense_.outputs, rows);
    for_each_item(ranges() * groups, [&](std::int64_t i, int thread) {
      const std::int64_t first = i % groups * rows;
      item(i / groups, first, std::min(rows, dense_.outputs - first), thread);
    });
  }

 private:
  static constexpr std::int64_t kItems = 16;  // for each thread
  static constexpr std::int64_t kLeastStrips = 8, kFewestStrips = 2;
  static constexpr std::int64_t kRangeFloats = 128 << 10;  // of x
  static constexpr std::int64_t kLeastRange = 256, kMostRange = 4096;

  // Longer parts than kItems for each thread where strips are few; shorter ones again as far as a large team would
  // wait.
  std::int64_t rows_of_part() const {
    const std::int64_t threads = compute_threads(), wanted = parts_of(kItems * threads, ranges());
    std::int64_t best = std::max(parts_of(parts_of(dense_.outputs, wanted), kStrip), kLeastStrips);
    if (threads <= kSmallTeam) return best * kStrip;
    constexpr double kOverhead = 0.25;  // of a part, in strips
    const auto cost = [&](std::int64_t strips) {
      const std::int64_t parts = ranges() * parts_of(dense_.outputs, strips * kStrip);
      return team_rounds(parts, threads) * (static_cast<double>(strips) + kOverhead);
    };
    for (std::int64_t strips = best - 1; strips >= kFewestStrips; --strips) {
      if (cost(strips) < cost(best)) best = strips;
    }
    return best * kStrip;
  }

  PanelForm form_of(std::int64_t range) const {
    return {&code_, std::min(range_, dense_.inputs - range * range_), dense_.rows};
  }

  const ProductCode& code_ = product_code();
  Dense dense_;
  std::int64_t range_;
  std::int64_t turned_pitch_;
  std::int64_t x_at_, dy_at_;
};

}  // namespace ridgeline::device::dense
