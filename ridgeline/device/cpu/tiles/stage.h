// ridgeline/device/cpu/tiles/stage.h
//
// Copies pixels of an image so that every tile of A is at constant distances: into planes with zeros around the image
// and whole tiles of channels, one plane for each remainder of a tap's position by the stride. For a tap, the 16
// results of a tile read the 16 consecutive pixels at that tap's offset. Rows follow each other with only the zeros
// between them that both sides share: results at these positions are unused, and a row of results is `pitch` long.
#pragma once

#include "ridgeline/device/cpu/tiles/patches.h"

namespace ridgeline::device::tiles {

class Stage {
 public:
  Stage(const Correlation& correlation, const Part& part, bool patches);

  // True if the image itself is such a plane: one tap, at offset 0, over whole tiles of channels.
  static bool needless(const Correlation& correlation);

  // Results of a row, with the unused ones.
  std::int64_t pitch() const { return pitch_; }
  // Values of a staged pixel, and of a whole image for `rows` rows of results.
  std::int64_t pixel() const { return pixel_; }
  std::int64_t image_values(std::int64_t rows) const;
  // Additional room for work in progress.
  std::int64_t spare_values(std::int64_t rows) const { return made_ ? made_->padded_values(rows) : 0; }
  // Offsets of the steps of a product, tap by tap, for `rows` rows of results.
  std::vector<std::int64_t> step_offsets(std::int64_t rows) const;

  // Rows [first, first + rows) of an image's results and one group. `room` is that of step_offsets, at least `rows`.
  void make(const TileCode& code, const bfloat16* in, std::int64_t image, std::int64_t group, std::int64_t first,
            std::int64_t rows, std::int64_t room, bfloat16* spare, bfloat16* to) const;

 private:
  struct Place {
    std::size_t plane;
    Pair at;  // in the plane
  };
  std::int64_t plane_values(std::int64_t rows) const;
  void make_pixels(const TileCode& code, std::int64_t row, std::int64_t column, std::int64_t pixels, std::int64_t group,
                   bfloat16* to) const;

  Images in_;
  const RowSource* source_;
  Part part_;
  std::int64_t channels_;  // of a group
  std::optional<Patches> made_;
  std::vector<Pair> planes_;   // remainders
  std::vector<Place> places_;  // of the taps
  Pair first_{}, span_{};      // least quotient of a tap's position by the stride, and the greatest less that
  std::int64_t pitch_ = 0;
  std::int64_t pixel_ = 0;
  std::int64_t depths_ = 0;  // of a pixel, whole tiles
};

}  // namespace ridgeline::device::tiles
