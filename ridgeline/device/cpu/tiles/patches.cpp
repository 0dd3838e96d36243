#include "ridgeline/device/cpu/tiles/patches.h"

#include <algorithm>

namespace ridgeline::device::tiles {

Patches::Patches(const Correlation& correlation, const Part& part)
    : in_(correlation.in), part_(part), channels_(correlation.in_channels()) {
  low_ = high_ = part.taps.front().at;
  for (const Tap& tap : part.taps) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      low_[axis] = std::min(low_[axis], tap.at[axis]);
      high_[axis] = std::max(high_[axis], tap.at[axis]);
    }
  }
  columns_ = (part.size[1] - 1) * part.in_step[1] + high_[1] - low_[1] + 1;
  width_ = round_up(static_cast<std::int64_t>(part.taps.size()) * channels_, kTileDepth);
  // Taps of a row that touch are one run.
  const bool touching = high_[1] == low_[1] || part.taps[1].at[1] - part.taps[0].at[1] == 1;
  const std::int64_t in_row =
      std::count_if(part.taps.begin(), part.taps.end(), [&](const Tap& t) { return t.at[0] == low_[0]; });
  const std::int64_t joined = touching ? in_row : 1;
  run_ = joined * channels_;
  for (std::size_t i = 0; i < part.taps.size(); i += static_cast<std::size_t>(joined)) {
    const Pair at = part.taps[i].at;
    runs_.push_back(((at[0] - low_[0]) * columns_ + at[1] - low_[1]) * channels_);
  }
}

std::int64_t Patches::padded_values(std::int64_t rows) const {
  return in_rows(rows) * columns_ * channels_ + zeros_behind();
}

void Patches::pad(const TileCode& code, const bfloat16* in, std::int64_t image, std::int64_t group, std::int64_t first,
                  std::int64_t rows, bfloat16* padded) const {
  const std::int64_t left = std::clamp<std::int64_t>(-low_[1], 0, columns_);
  const std::int64_t right = std::clamp(in_.size[1] - low_[1], left, columns_);
  for (std::int64_t i = 0; i < in_rows(rows); ++i) {
    const std::int64_t row = first * part_.in_step[0] + low_[0] + i;
    bfloat16* const out = padded + i * columns_ * channels_;
    if (row < 0 || row >= in_.size[0] || left == right) {
      clear(out, columns_ * channels_);
      continue;
    }
    clear(out, left * channels_);
    const bfloat16* from = in + ((image * in_.size[0] + row) * in_.size[1] + low_[1] + left) * in_.channels;
    if (channels_ == in_.channels) {
      std::copy_n(from, (right - left) * channels_, out + left * channels_);
    } else {
      code.copy_rows(from + group * channels_, in_.channels, right - left, channels_, out + left * channels_,
                     channels_);
    }
    clear(out + right * channels_, (columns_ - right) * channels_);
  }
  clear(padded + in_rows(rows) * columns_ * channels_, zeros_behind());
}

void Patches::make(const TileCode& code, const bfloat16* padded, std::int64_t row, bfloat16* to) const {
  code.copy_patches(padded + row * row_step(), pixel_step(), part_.size[1], runs_.data(),
                    static_cast<std::int64_t>(runs_.size()), run_, to, width_);
}

std::vector<std::vector<PairPart>> Patches::pair_parts() const {
  const std::int64_t columns = static_cast<std::int64_t>(runs_.size()) * run_;
  std::vector<std::vector<PairPart>> tiles(static_cast<std::size_t>(blocks_of(columns, kTileColumns)));
  std::int64_t n = 0;  // of a run, in a tile
  for (std::int64_t column = 0; column < columns; column += n) {
    const std::int64_t first = column % kTileColumns, in_run = column % run_;
    const std::int64_t from = runs_[static_cast<std::size_t>(column / run_)] + in_run;
    n = std::min(run_ - in_run, kTileColumns - first);
    const bool one_load = pixel_step() + n <= kTileDepth;
    auto& parts = tiles[static_cast<std::size_t>(column / kTileColumns)];
    for (std::int64_t odd = 0; odd < 2; ++odd) {
      const std::int64_t to_pixel = odd * pixel_step();
      if (odd == 0 || !one_load) parts.push_back({from + (one_load ? 0 : to_pixel), 0, {}});
      for (std::int64_t i = 0; i < n; ++i) {
        const auto place = static_cast<std::size_t>((first + i) * 2 + odd);
        parts.back().these |= std::uint32_t{1} << place;
        parts.back().index[place] = static_cast<std::uint16_t>(i + (one_load ? to_pixel : 0));
      }
    }
  }
  return tiles;
}

void Patches::make_pairs(const TileCode& code, const bfloat16* padded, std::int64_t row,
                         std::span<const PairPart> parts, bfloat16* to) const {
  code.pair_parts(padded + row * row_step(), 2 * pixel_step(), blocks_of(part_.size[1], 2), parts, to);
}

}  // namespace ridgeline::device::tiles
