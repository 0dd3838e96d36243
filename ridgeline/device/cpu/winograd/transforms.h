// ridgeline/device/cpu/winograd/transforms.h
//
// The two-dimensional transforms of one tile, all channels. A tile is a list of pointers to its pixels (rows of
// channels); its transform is stored in streams at equal distances, one for each position. Within a stream the channels
// may be divided into panels: channel c is at (c / panel) * panel_stride + c % panel, where `panel` is panel_width().
// With panel_stride = panel_width() the channels are contiguous. Pixels are f32 or bf16, streams f32; a pixel that is
// stored as bf16 is rounded once.
#pragma once

#include <cstdint>

#include "ridgeline/core/dtype.h"

namespace ridgeline::device::winograd {

// F(m x n, r x r): tiles of m rows and n columns of results, r x r taps.
struct Rule {
  int m = 0;
  int n = 0;
  int r = 0;
  // Height and width of the pixels that a tile reads, and of its transform.
  int height() const { return m + r - 1; }
  int width() const { return n + r - 1; }
  int positions() const { return height() * width(); }
  friend bool operator==(const Rule&, const Rule&) = default;
};

// The streams that a transform writes or reads.
template <class Float>
struct StreamsOf {
  Float* base;
  std::int64_t distance;      // between positions, in elements
  std::int64_t panel_stride;  // in elements
};
using Streams = StreamsOf<float>;
using ConstStreams = StreamsOf<const float>;

// What a contracting transform does to each pixel before it is stored: adds the bias, then the pixel of `addend`,
// applies relu, and stores 0 if the pixel of `gate` is at most 0.
template <class Pixel>
struct Epilogue {
  const float* bias = nullptr;           // [channels]
  const Pixel* const* addend = nullptr;  // a pointer for each pixel
  const Pixel* const* gate = nullptr;    // likewise
  bool relu = false;
};

// The functions of one rule for the vector target that was active when they were requested. Expanding functions read
// pixels and write whole vectors: up to lanes() - 1 channels after the last one are written as zeros. Contracting ones
// write only the existing channels.
template <class Pixel>
struct TransformSet {
  using Expand = void (*)(const Pixel* const* pixels, std::int64_t channels, const Streams& to, float* sums);
  using Contract = void (*)(const ConstStreams& from, std::int64_t channels, Pixel* const* pixels,
                            const Epilogue<Pixel>& epilogue);
  Expand input;     // height x width pixels: B^T x B
  Expand weights;   // r x r taps: G w G^T
  Expand gradient;  // m x n pixels: A dy A^T; adds the sum of the pixels to sums[channel], rounded up to lanes()
  Contract output;  // to m x n pixels: A^T y A
  Contract weights_gradient;  // to r x r taps: G^T dw G
};

// Null if there is no such rule.
template <class Pixel>
const TransformSet<Pixel>* transforms(Rule rule);
template <>
const TransformSet<float>* transforms(Rule rule);
template <>
const TransformSet<bfloat16>* transforms(Rule rule);

// Floats in a vector, and channels in a panel, of the active vector target.
std::int64_t lanes();
std::int64_t panel_width();

}  // namespace ridgeline::device::winograd
