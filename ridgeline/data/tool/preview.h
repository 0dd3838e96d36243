// ridgeline/data/tool/preview.h
//
// A contact sheet of what a dataset delivers: samples by their position in an epoch, as a run makes them, optionally
// next to the originals. The same dataset, epoch and position always give the same pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/source/sources.h"
#include "ridgeline/image/image.h"

namespace ridgeline::data {

struct PreviewOptions {
  int rows = 4, columns = 8;
  std::uint64_t epoch = 0;
  std::uint64_t start = 0;  // position of the first sample in the epoch's order
  bool original = false;    // the undistorted image left of each sample
};

struct PreviewCell {
  std::uint64_t index = 0;  // in the epoch
  std::string origin;       // "" if the sample cannot be made
  std::string caption;      // "#12 tench"
  std::string problem;      // why it cannot be made; its cell is grey
};

struct Preview {
  image::Image sheet;  // RGB
  std::vector<PreviewCell> cells;
  // The images are numbers that cannot be mapped back to 0..255: each is stretched over its own range.
  bool stretched = false;
};

// A trailing Normalize is left out, so that the pixels are those before it. Errors: a dataset whose column "image" is
// not a picture, rows or columns below 1, nothing at `start`, `original` for several sources.
Preview preview(const Dataset& dataset, const PreviewOptions& options = {});

}  // namespace ridgeline::data
