// tests/image/png_samples.h
//
// PNG files of every kind, made of chunks that a test may change: all depths and colour types, interlaced or not, every
// filter, pixels in several chunks, additional chunks, animations.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/core/random.h"

namespace ridgeline::image::test {

struct PngChunk {
  std::string name, data;
  std::string checksum = {};  // "": the correct one
};

struct PngSample {
  std::vector<PngChunk> chunks;
  std::string tail;  // after the last chunk
  std::string bytes() const;
};

// The kinds are numbered from 0: depth, colour type and interlacing; additional chunks are random.
int png_kinds();
PngSample make_png(int kind, SampleRandom& random);

}  // namespace ridgeline::image::test
