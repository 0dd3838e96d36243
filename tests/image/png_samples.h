// tests/image/png_samples.h
//
// PNG files of every kind, made of chunks that a test may change: all depths and colour types, in passes or not, every
// prediction, pixels in several chunks, chunks besides, animations.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/core/random.h"

namespace ridgeline::image::test {

struct PngChunk {
  std::string name, data;
  std::string checksum = {};  // "": the right one
};

struct PngSample {
  std::vector<PngChunk> chunks;
  std::string tail;  // behind the last chunk
  std::string bytes() const;
};

// The kinds, numbered from 0: depth, colour type and passes; extras are drawn.
int png_kinds();
PngSample make_png(int kind, SampleRandom& random);

}  // namespace ridgeline::image::test
