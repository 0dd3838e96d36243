// ridgeline/data/make/make_shapes.h
//
// Draws the embedded data set (data/make/shapes.h) into class folders OUT/train/<class>/NNNNN.jpg and
// OUT/val/<class>/... A pure function of its seed: equal seeds give equal files. Runs on the compute team.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ridgeline::data {

// (done, of), from any thread, one call at a time.
using Progress = std::function<void(std::int64_t, std::int64_t)>;

struct MakeShapesOptions {
  std::uint64_t seed = 0;
  std::int64_t train = 8000;
  std::int64_t val = 1000;
  Progress progress = {};
};
struct MakeShapesReport {
  std::int64_t written = 0;
  bool already_there = false;  // OUT held this very data set; nothing was drawn
};
// Draws into the folder OUT.partial and renames it, so that OUT is complete or absent. OUT may be absent, empty or the
// result of an equal call (then nothing is drawn); any other content is an Error and is left as it is.
MakeShapesReport make_shapes(const std::string& out_dir, MakeShapesOptions options = {});

}  // namespace ridgeline::data
