// ridgeline/device/cpu/dense/gradient.h
//
// The gradient of dense weights, dw = dy^T x, computed strip by strip: some rows of it in a range of inputs, whose
// columns of x stay in the second-level cache. Owns only its layout of the scratch memory; after `prepare` any thread
// may multiply.
#pragma once

#include <span>

#include "ridgeline/device/cpu/dense/dense.h"
#include "ridgeline/device/cpu/team_shares.h"

namespace ridgeline::device::dense {

class Gradient {
 public:
  static constexpr std::int64_t kStrip = 2 * kBlockRows;  // rows of dw

  Gradient(const Dense& d, Scratch& scratch);

  // Packs x into panels and transposes dy; f32 or bf16.
  template <class Value>
  void prepare(const Value* x, const Value* dy, float* scratch) const;

  // A strip's number of inputs, and the number of such ranges; its rows are `pitch()` floats apart, in whole vectors.
  std::int64_t range() const { return range_; }
  std::int64_t ranges() const { return parts_of(dense_.inputs, range_); }
  std::int64_t pitch() const { return range_ + kLineFloats; }
  // Computes `rows` rows from `output` on in a range. `ahead` is prefetched meanwhile.
  void multiply(std::int64_t output, std::int64_t rows, std::int64_t range, const float* scratch, float* strip,
                std::span<const Lines> ahead) const;

  // Calls item(range, first output, outputs, thread) for blocks of the gradient, long enough that most prefetches of a
  // strip are for its own block.
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

  // Blocks are longer than for kItems per thread if there are few strips, but short enough that a large team does not
  // wait.
  std::int64_t rows_of_part() const {
    const std::int64_t threads = compute_threads(), wanted = parts_of(kItems * threads, ranges());
    std::int64_t best = std::max(parts_of(parts_of(dense_.outputs, wanted), kStrip), kLeastStrips);
    if (threads <= kSmallTeam) return best * kStrip;
    constexpr double kOverhead = 0.25;  // of a block, in strips
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
