#include "ridgeline/device/cpu/tiles/gradient_units.h"

#include <algorithm>
#include <numeric>

namespace ridgeline::device::tiles {
namespace {

// Rows of a unit, at most `most`, with the least work for an image: steps, and the cost of loading and storing the sums
// of each unit's products, in steps.
std::int64_t best_rows(std::int64_t height, std::int64_t pitch, std::int64_t most) {
  constexpr std::int64_t kSums = 3;
  const auto work = [&](std::int64_t rows) {
    return height / rows * blocks_of(rows * pitch, kTileDepth) + blocks_of(height % rows * pitch, kTileDepth) +
           blocks_of(height, rows) * kSums;
  };
  std::int64_t best = most;
  for (std::int64_t rows = most - 1; rows > 0; --rows) {
    if (work(rows) < work(best)) best = rows;
  }
  return best;
}

// The part with only the taps of its first rows, as many as the next result is further down. All taps, if rows of taps
// are apart or those of a result do not reach into the next one's.
Part first_taps(const Part& part) {
  const std::int64_t begin = part.taps.front().at[0], end = part.taps.back().at[0], stride = part.in_step[0];
  if (stride == 1 || end - begin < stride) return part;
  Part first = part;
  first.taps.clear();
  std::int64_t last = begin;
  for (const Tap& tap : part.taps) {
    if (tap.at[0] - last > 1) return part;
    last = tap.at[0];
    if (tap.at[0] < begin + stride) first.taps.push_back(tap);
  }
  return first;
}

// Rows [top, bottom) of the unit's image, or all rows of its images: counted through all images.
Pair rows_of(const GradientUnits::Unit& unit, const Images& images, std::int64_t top, std::int64_t bottom) {
  const std::int64_t first = unit.image * images.size[0];
  if (unit.images > 1) return {first, first + unit.images * images.size[0]};
  return {first + top, first + bottom};
}

}  // namespace

GradientUnits::GradientUnits(const Correlation& forward, bool patches, std::int64_t most_pixels)
    : in_(forward.in),
      out_(forward.out),
      part_(forward.parts[0]),
      channels_(forward.in_channels()),
      row_columns_(static_cast<std::int64_t>(part_.taps.size()) * channels_),
      columns_(channels_) {
  if (patches) {
    const Part first = first_taps(part_);
    patches_.emplace(forward, first);
    patch_parts_ = patches_->pair_parts();
    columns_ = static_cast<std::int64_t>(first.taps.size()) * channels_;
    planes_ = {{0, 0}};
    span_ = blocks_of(row_columns_, columns_) - 1;
    for (std::int64_t row = 0; row <= span_; ++row) places_.push_back({0, row, 0});
  } else {
    const std::int64_t step = part_.in_step[0];
    first_row_ = floor_divide(part_.taps.front().at[0], step);
    for (const Tap& tap : part_.taps) {
      const std::int64_t quotient = floor_divide(tap.at[0], step);
      const Plane plane{tap.at[1], tap.at[0] - quotient * step};
      Place place{0, quotient - first_row_, 0};
      for (; place.plane < planes_.size(); ++place.plane) {
        const Plane& known = planes_[place.plane];
        const auto pixel = shared_pixel(known.column, plane.column);
        if (known.remainder != plane.remainder || !pixel) continue;
        place.pixel = *pixel;
        break;
      }
      if (place.plane == planes_.size()) planes_.push_back(plane);
      places_.push_back(place);
      span_ = std::max(span_, place.row);
      most_pixel_ = std::max(most_pixel_, place.pixel);
    }
  }
  taps_by_plane_.resize(places_.size());
  std::iota(taps_by_plane_.begin(), taps_by_plane_.end(), 0);
  std::stable_sort(taps_by_plane_.begin(), taps_by_plane_.end(), [&](std::int64_t a, std::int64_t b) {
    return places_[static_cast<std::size_t>(a)].plane < places_[static_cast<std::size_t>(b)].plane;
  });
  const std::int64_t rows = std::clamp<std::int64_t>(most_pixels / pitch(), 1, part_.size[0] * out_.count);
  if (rows >= part_.size[0]) {
    rows_ = part_.size[0];
    images_ = rows / part_.size[0];
  } else {
    rows_ = best_rows(part_.size[0], pitch(), rows);
    row_blocks_ = blocks_of(part_.size[0], rows_);
  }
  image_blocks_ = blocks_of(out_.count, images_);
  // One line more: the blocks of a pair of pixels are written side by side, and at distances of many even lines all
  // would map to the same sets of the first-level cache.
  column_values_ = images_ * image_values() + kTileDepth;
  for (const Place& place : places_) {
    taps_at_.push_back(static_cast<std::int64_t>(place.plane) * plane_values() +
                       (place.row * pitch() + place.pixel) / 2 * kTileDepth);
  }
  for (std::int64_t image = 0; image < images_; ++image) {
    for (std::int64_t step = 0; step < image_steps(rows_); ++step) {
      b_offsets_.push_back(image * image_values() + step * kTileValues);
    }
  }
}

// Where a row of pixels for the taps of a column begins in a plane that was made for those of `plane_column`, if it
// can: it begins at a pair, and the zeros that it reads after the row's end are zeros in the next row too.
std::optional<std::int64_t> GradientUnits::shared_pixel(std::int64_t plane_column, std::int64_t column) const {
  const std::int64_t step = part_.in_step[1], apart = column - plane_column;
  if (apart < 0 || apart % (2 * step) != 0) return std::nullopt;
  const std::int64_t pixel = apart / step, behind = part_.size[1] + pixel - pitch();  // pixels read in the next row
  const bool zeros = pitch() * step + plane_column >= in_.size[1] && (behind - 1) * step + plane_column < 0;
  if (behind > 0 && !zeros) return std::nullopt;
  return pixel;
}

GradientUnits::Unit GradientUnits::unit(std::int64_t number) const {
  Unit unit{};
  unit.row = number % row_blocks_ * rows_;
  unit.rows = std::min(rows_, part_.size[0] - unit.row);
  unit.image = number / row_blocks_ * images_;
  unit.images = std::min(images_, out_.count - unit.image);
  return unit;
}

// A pair of pixels takes a row of 32 values. Steps run over the end of the last row.
std::int64_t GradientUnits::plane_values() const {
  return round_up((rows_ + span_) * pitch() + most_pixel_ + kTileDepth, kTileDepth) / 2 * kTileDepth;
}

std::int64_t GradientUnits::spare_values() const {
  return patches_ ? round_up(patches_->padded_values(rows_ + span_), kTileDepth) : 0;
}

void GradientUnits::stage_gradient(const TileCode& code, const bfloat16* dy, const Unit& unit, std::int64_t first,
                                   std::int64_t filters, bfloat16* to) const {
  const bfloat16* rows[kTileDepth];
  const std::int64_t distance = steps() * kTileValues;
  for (std::int64_t image = 0; image < unit.images; ++image) {
    const bfloat16* const from = dy + image * out_.size[0] * out_.size[1] * out_.channels;
    std::int64_t row = 0, column = 0;
    for (std::int64_t step = 0; step < image_steps(unit.rows); ++step, to += kTileValues) {
      for (const bfloat16*& pixel : rows) {
        const bool there = row < unit.rows && column < out_.size[1];
        pixel = there ? from + (row * out_.size[1] + column) * out_.channels + first : nullptr;
        if (++column == pitch()) column = 0, ++row;
      }
      for (std::int64_t block = 0; block * kTileRows < filters; ++block) {
        code.transpose(rows, block * kTileRows, filters - block * kTileRows, to + block * distance);
      }
    }
  }
}

void GradientUnits::add_pixels(const TileCode& code, const bfloat16* dy, const Unit& unit, std::int64_t first,
                               std::int64_t n, float* sums) const {
  for (std::int64_t image = 0; image < unit.images; ++image) {
    code.add_rows(dy + image * out_.size[0] * out_.size[1] * out_.channels + first, out_.channels,
                  unit.rows * out_.size[1], n, sums);
  }
}

void GradientUnits::stage_image(const TileCode& code, const bfloat16* x, const Unit& unit, std::int64_t group,
                                std::int64_t first, std::int64_t n, bfloat16* spare, bfloat16* to) const {
  for (std::int64_t image = 0; image < unit.images; ++image, to += image_values()) {
    if (patches_) {
      stage_patches(code, x, unit.image + image, unit, group, first, n, spare, to);
    } else {
      stage_taps(code, x, unit.image + image, unit, group * channels_ + first, n, to);
    }
    // Steps read values after the last row, against zeros of dy.
    for (std::int64_t block = 0; block * kTileColumns < n; ++block) {
      for (std::size_t plane = 0; plane < planes_.size(); ++plane) {
        const std::int64_t used = (unit.rows + span_) * pitch() / 2 * kTileDepth;
        clear(to + block * column_values() + static_cast<std::int64_t>(plane) * plane_values() + used,
              plane_values() - used);
      }
    }
  }
}

Pair GradientUnits::gradient_rows(const Unit& unit) const {
  return rows_of(unit, out_, unit.row, unit.row + unit.rows);
}

LinesAhead GradientUnits::gradient_lines(const bfloat16* dy, const Unit& unit, std::int64_t first,
                                         std::int64_t filters) const {
  const auto [top, bottom] = gradient_rows(unit);
  return pixel_lines(dy, out_, top, bottom, first, filters);
}

LinesAhead GradientUnits::image_lines(const bfloat16* x, const Unit& unit, std::int64_t group, std::int64_t first,
                                      std::int64_t n, const LinesAhead* then) const {
  const std::int64_t step = part_.in_step[0], tap = part_.taps.front().at[0], last_tap = part_.taps.back().at[0];
  const std::int64_t top = std::clamp<std::int64_t>(unit.row * step + tap, 0, in_.size[0]);
  const std::int64_t bottom = std::clamp((unit.row + unit.rows - 1) * step + last_tap + 1, top, in_.size[0]);
  const auto [from, to] = rows_of(unit, in_, top, bottom);
  if (patches_) return pixel_lines(x, in_, from, to, group * channels_, channels_, then);
  return pixel_lines(x, in_, from, to, group * channels_ + first, n, then);
}

// By rows: the first-level cache holds one for all planes and blocks of channels.
void GradientUnits::stage_taps(const TileCode& code, const bfloat16* x, std::int64_t image, const Unit& unit,
                               std::int64_t channel, std::int64_t n, bfloat16* to) const {
  for (std::int64_t i = 0; i < unit.rows + span_; ++i, to += pitch() / 2 * kTileDepth) {
    for (std::int64_t first = 0; first < n; first += kBlock) {
      bfloat16* out = to + first / kTileColumns * column_values();
      for (const Plane& plane : planes_) {
        const std::int64_t row = (unit.row + i + first_row_) * part_.in_step[0] + plane.remainder;
        stage_row(code, x, image, row, plane.column, channel + first, std::min(kBlock, n - first), out);
        out += plane_values();
      }
    }
  }
}

// Up to 32 channels of a row of the image, which may be outside of it.
void GradientUnits::stage_row(const TileCode& code, const bfloat16* x, std::int64_t image, std::int64_t row,
                              std::int64_t tap_column, std::int64_t channel, std::int64_t n, bfloat16* to) const {
  const std::int64_t step = part_.in_step[1], width = row >= 0 && row < in_.size[0] ? in_.size[1] : 0;
  const bfloat16* const from = x + (image * in_.size[0] + row) * in_.size[1] * in_.channels + channel;
  const auto pixel = [&](std::int64_t j) -> const bfloat16* {
    const std::int64_t column = j * step + tap_column;
    return column >= 0 && column < width ? from + column * in_.channels : nullptr;
  };
  for (std::int64_t j = 0; j < pitch();) {
    bfloat16* const out = to + j / 2 * kTileDepth;
    const bfloat16 *const even = pixel(j), *const odd = pixel(j + 1);
    std::int64_t pairs = 1;
    if (n < kBlock) {
      code.interleave(even, odd, n, out, column_values());
    } else if (even == nullptr || odd == nullptr) {
      code.interleave_mixed(even, odd, out, column_values());
    } else {
      const std::int64_t there = blocks_of(width - tap_column, step);  // pixels from the row's begin on
      pairs = std::min(there, pitch()) / 2 - j / 2;
      code.pair_rows_mixed(even, step * in_.channels, pairs, out, column_values());
    }
    j += 2 * pairs;
  }
}

void GradientUnits::stage_patches(const TileCode& code, const bfloat16* x, std::int64_t image, const Unit& unit,
                                  std::int64_t group, std::int64_t first, std::int64_t n, bfloat16* spare,
                                  bfloat16* to) const {
  patches_->pad(code, x, image, group, unit.row, unit.rows + span_, spare);
  for (std::int64_t row = 0; row < unit.rows + span_; ++row, to += pitch() / 2 * kTileDepth) {
    for (std::int64_t column = 0; column < n; column += kTileColumns) {
      patches_->make_pairs(code, spare, row, patch_parts_[static_cast<std::size_t>((first + column) / kTileColumns)],
                           to + column / kTileColumns * column_values());
    }
  }
}

}  // namespace ridgeline::device::tiles
