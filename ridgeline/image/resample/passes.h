// ridgeline/image/resample/passes.h
//
// The two inner loops of the resizer, vectorised per instruction set. Private to this folder.
//
// A weight w of 22 fraction bits is kept as w = high * 2^11 + low with 0 <= low < 2^11: both halves fit 16 bits, so
// that pairs of taps multiply and add in one instruction, and the sum of the halves is the exact 32-bit sum. Weights
// are stored as pairs of taps: low halfword the even tap's, high halfword the odd one's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ridgeline::image {

inline constexpr int kWeightBits = 22;  // Pillow: 32 - 8 - 2
inline constexpr int kLowBits = 11;
inline constexpr std::ptrdiff_t kRowSlack = 64;  // bytes that a pass may write beyond a row's end

// Weights of one axis in pairs, `pairs` words a position in each vector; taps beyond the count are zero.
struct PairedWeights {
  int pairs = 0;
  std::vector<std::uint32_t> high, low;
};
PairedWeights pair_weights(const std::vector<std::int32_t>& weight, int taps, int multiple_of_taps);

// One result row: out[i] = clip((sum_k w[k] * in[k * stride + i] + 2^21) >> 22) for i < n. Reads n bytes a row and
// writes exactly n. `weight` has `count` taps; `high` and `low` the same in pairs.
void resample_down(const std::uint8_t* in, std::ptrdiff_t stride, int count, const std::int32_t* weight,
                   const std::uint32_t* high, const std::uint32_t* low, std::size_t n, std::uint8_t* out);

// What the across pass for AVX-512 works by: sixteen result columns in two halves, each with a window of 32 source
// pixels in which a column's first pixel is at place[i].
struct AcrossBlock {
  static constexpr int kColumns = 16;
  alignas(64) std::int32_t place[kColumns];
  int begin[2];      // source pixel where each half's window begins
  bool one_window;   // the first half's holds all
  int pairs;         // of taps
  std::size_t from;  // its weights: for each pair 16 high words, then 16 low ones
};
// Made once for the weights of a resize; keeps its memory from one to the next.
struct AcrossBy16 {
  bool fits = false;  // false: another instruction set, or windows that are too small
  std::vector<AcrossBlock> blocks;
  std::vector<std::uint32_t> weights;
  std::vector<std::uint32_t> row;  // working memory: a source row in four-byte pixels
};

// RGB rows across: out[y][x] from in[y] pixels first[x] + 0..count[x]-1. Rows of `out` need kRowSlack bytes behind
// them. `weight` has `taps` places a position; the pairs are padded to whole groups of 4 taps.
struct AcrossRows {
  const std::uint8_t* in = nullptr;
  std::ptrdiff_t in_stride = 0;
  int rows = 0;
  int in_width = 0;  // pixels that may be read
  std::uint8_t* out = nullptr;
  std::ptrdiff_t out_stride = 0;
  int out_width = 0;
  const int* first = nullptr;
  const int* count = nullptr;
  const std::int32_t* weight = nullptr;
  int taps = 0;
  const PairedWeights* pairs = nullptr;
  AcrossBy16* by_16 = nullptr;
};
// Makes `job.by_16` for the columns of `job`: widths, first, count, taps and pairs; its rows are not looked at.
void plan_across_by_16(const AcrossRows& job);
void resample_across_rgb(const AcrossRows& job);
// The same, where there is such a plan and the instruction set is still the one; false, and nothing written, where not.
bool resample_across_rgb_by_16(const AcrossRows& job);

// The plain code, any number of channels, some of the columns or bytes; what the vector code must equal.
void resample_down_plain(const std::uint8_t* in, std::ptrdiff_t stride, int count, const std::int32_t* weight,
                         std::size_t begin, std::size_t end, std::uint8_t* out);
void resample_across_plain(const AcrossRows& job, int channels, int first_column, int last_column);

inline std::uint8_t clip_weighted_sum(std::int32_t sum) {
  const std::int32_t v = sum >> kWeightBits;
  return static_cast<std::uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v);
}

}  // namespace ridgeline::image
