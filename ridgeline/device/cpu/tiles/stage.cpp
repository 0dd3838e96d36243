#include "ridgeline/device/cpu/tiles/stage.h"

#include <algorithm>

#include "ridgeline/core/error.h"

namespace ridgeline::device::tiles {
Stage::Stage(const Correlation& correlation, const Part& part, bool patches)
    : in_(correlation.in), source_(correlation.source), part_(part), channels_(correlation.in_channels()) {
  RIDGELINE_CHECK(source_ == nullptr || (!patches && part.in_step == Pair{1, 1}), "rows are made as a whole");
  if (patches) {
    made_.emplace(correlation, part);
    pitch_ = part.size[1];
    pixel_ = made_->width();
    return;
  }
  depths_ = round_up(channels_, kTileDepth);
  pixel_ = apart(depths_);
  Pair last{};
  std::vector<Pair> quotients;
  for (const Tap& tap : part.taps) {
    Pair quotient, remainder;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      quotient[axis] = floor_divide(tap.at[axis], part.in_step[axis]);
      remainder[axis] = tap.at[axis] - quotient[axis] * part.in_step[axis];
      first_[axis] = quotients.empty() ? quotient[axis] : std::min(first_[axis], quotient[axis]);
      last[axis] = quotients.empty() ? quotient[axis] : std::max(last[axis], quotient[axis]);
    }
    quotients.push_back(quotient);
    const auto at = std::find(planes_.begin(), planes_.end(), remainder);
    places_.push_back({static_cast<std::size_t>(at - planes_.begin()), {}});
    if (at == planes_.end()) planes_.push_back(remainder);
  }
  for (std::size_t i = 0; i < quotients.size(); ++i) {
    places_[i].at = {quotients[i][0] - first_[0], quotients[i][1] - first_[1]};
  }
  span_ = {last[0] - first_[0], last[1] - first_[1]};
  // A result reads up to span columns to its right. Where that leaves the row it must read the zeros with which the
  // next one begins, and no row may lose pixels.
  const std::int64_t wanted = part.size[1] + span_[1];
  const std::int64_t zeros = std::max<std::int64_t>(0, -first_[1]);
  pitch_ = std::max(part.size[1], wanted - zeros);
  for (const Pair& plane : planes_) {
    const std::int64_t pixels = blocks_of(in_.size[1] - plane[1], part.in_step[1]) - first_[1];
    pitch_ = std::max(pitch_, std::min(pixels, wanted));
  }
}

bool Stage::needless(const Correlation& c) {
  if (c.source != nullptr || c.parts.size() != 1 || c.parts[0].taps.size() != 1) return false;
  const Part& part = c.parts[0];
  return part.taps[0].at == Pair{} && part.in_step == Pair{1, 1} && part.step == Pair{1, 1} && part.size == c.in.size &&
         c.in_channels() % kTileDepth == 0 && c.in.count * c.in.size[0] * c.in.size[1] >= kTileRows;
}

// The last row is followed by zeros for its last results, and room for the tile that the last result begins.
std::int64_t Stage::plane_values(std::int64_t rows) const {
  return ((rows + span_[0]) * pitch_ + span_[1] + kTileRows) * pixel_;
}

std::int64_t Stage::image_values(std::int64_t rows) const {
  if (made_) return (rows * pitch_ + kTileRows) * pixel_ + Patches::kBehind;
  return static_cast<std::int64_t>(planes_.size()) * plane_values(rows);
}

std::vector<std::int64_t> Stage::step_offsets(std::int64_t rows) const {
  std::vector<std::int64_t> offsets;
  if (made_) {
    for (std::int64_t at = 0; at < pixel_; at += kTileDepth) offsets.push_back(at);
    return offsets;
  }
  for (const Place& place : places_) {
    const std::int64_t tap =
        static_cast<std::int64_t>(place.plane) * plane_values(rows) + (place.at[0] * pitch_ + place.at[1]) * pixel_;
    for (std::int64_t at = 0; at < depths_; at += kTileDepth) offsets.push_back(tap + at);
  }
  return offsets;
}

// Channels without values are zeros as far as tiles read them.
void Stage::make_pixels(const TileCode& code, std::int64_t row, std::int64_t column, std::int64_t pixels,
                        std::int64_t group, bfloat16* to) const {
  if (channels_ != depths_) clear(to, pixels * pixel_);
  source_->make(code, row, {column, column + pixels}, group * channels_, channels_, to, pixel_);
}

void Stage::make(const TileCode& code, const bfloat16* in, std::int64_t image, std::int64_t group, std::int64_t first,
                 std::int64_t rows, std::int64_t room, bfloat16* spare, bfloat16* to) const {
  if (made_) {
    made_->pad(code, in, image, group, first, rows, spare);
    for (std::int64_t row = 0; row < rows; ++row) made_->make(code, spare, row, to + row * pitch_ * pixel_);
    return;
  }
  for (const Pair& plane : planes_) {
    bfloat16* out = to;
    to += plane_values(room);
    const std::int64_t step = part_.in_step[1];
    // The columns of the plane that are in the image.
    const std::int64_t left = std::clamp<std::int64_t>(-first_[1], 0, pitch_);
    const std::int64_t right = std::clamp(blocks_of(in_.size[1] - plane[1], step) - first_[1], left, pitch_);
    for (std::int64_t i = 0; i < rows + span_[0]; ++i, out += pitch_ * pixel_) {
      const std::int64_t row = (first + i + first_[0]) * part_.in_step[0] + plane[0];
      if (row < 0 || row >= in_.size[0]) {
        clear(out, pitch_ * pixel_);
        continue;
      }
      clear(out, left * pixel_);
      const std::int64_t column = (left + first_[1]) * step + plane[1];
      const bfloat16* from =
          in + ((image * in_.size[0] + row) * in_.size[1] + column) * in_.channels + group * channels_;
      if (source_ != nullptr) {
        make_pixels(code, image * in_.size[0] + row, column, right - left, group, out + left * pixel_);
      } else if (step == 1 && channels_ == in_.channels && channels_ == pixel_) {
        std::copy_n(from, (right - left) * pixel_, out + left * pixel_);
      } else {
        code.copy_rows(from, step * in_.channels, right - left, channels_, out + left * pixel_, pixel_);
      }
      clear(out + right * pixel_, (pitch_ - right) * pixel_);
    }
    clear(out, span_[1] * pixel_);
  }
}

}  // namespace ridgeline::device::tiles
