// ridgeline/data/tool/picture_extents.h
//
// Which tensors the tools treat as a picture. A pure function.
#pragma once

#include <cstdint>
#include <optional>

#include "ridgeline/core/shape.h"

namespace ridgeline::data {

struct PictureExtents {
  std::int64_t height = 0, width = 0, channels = 1;
  bool channels_first = false;
};

// [H,W], or 1 or 3 channels last or first; nullopt for others.
inline std::optional<PictureExtents> picture_extents(const Shape& shape) {
  const auto channels = [](std::int64_t n) { return n == 1 || n == 3; };
  if (shape.rank() == 2) return PictureExtents{shape[0], shape[1], 1, false};
  if (shape.rank() == 3 && channels(shape[2])) return PictureExtents{shape[0], shape[1], shape[2], false};
  if (shape.rank() == 3 && channels(shape[0])) return PictureExtents{shape[1], shape[2], shape[0], true};
  return std::nullopt;
}

}  // namespace ridgeline::data
