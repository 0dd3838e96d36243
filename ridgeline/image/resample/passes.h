// ridgeline/image/resample/passes.h
//
// The two inner loops of the resizer, vectorised per instruction set. Private to this folder.
//
// No product of a weight of 22 fraction bits fits 16 bits, so a weight is split into digits whose products are summed
// separately; adding these sums gives the exact 32-bit one. Either w = high * 2^11 + low with 0 <= low < 2^11, kept as
// pairs of taps (low halfword the even tap's, high halfword the odd one's): one instruction multiplies and adds two
// taps. Or, for processors that multiply bytes, w = (a * 2^8 + b) * 2^8 + c with digits of -128 to 127, kept as words
// of four taps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ridgeline::image {

inline constexpr int kWeightBits = 22;  // Pillow: 32 - 8 - 2
inline constexpr int kLowBits = 11;
inline constexpr std::ptrdiff_t kRowSlack = 64;  // bytes that a pass may write beyond a row's end

// Result position p sums weight[p * taps + k] times source first[p] + k for k < count[p].
struct AxisWeights {
  int positions = 0, taps = 0;
  const int* first = nullptr;
  const int* count = nullptr;
  const std::int32_t* weight = nullptr;
};

// The packed weights below are made by the pass that first needs them, and remade after made = false: when weights
// change. They keep their memory.

// Weights in pairs, `pairs` words for each position in each vector; taps beyond the count are zero.
struct PairedWeights {
  bool made = false;
  int pairs = 0;
  std::vector<std::uint32_t> high, low;
};

// Weights in digits: for each position `groups` of four taps, three words each, the highest digits first.
struct DigitWeights {
  bool made = false;
  bool fits = false;  // false: a weight beyond three digits
  int groups = 0;
  std::vector<std::uint32_t> words;
};

struct DownForms {
  PairedWeights pairs;
  DigitWeights digits;
  void weights_changed() { pairs.made = digits.made = false; }
};

// For the across pass with AVX-512: sixteen result columns in two halves, each with a window of 32 source pixels in
// which a column's first pixel is at place[i].
struct AcrossBlock {
  static constexpr int kColumns = 16;
  alignas(64) std::int32_t place[kColumns];
  int begin[2];      // source pixel where each half's window begins
  bool one_window;   // the first half's window holds all pixels
  int pairs;         // of taps
  std::size_t from;  // its weights: for each pair 16 high words, then 16 low ones
};
struct AcrossBy16 {
  bool made = false;
  bool fits = false;  // false: windows that are too small
  std::vector<AcrossBlock> blocks;
  std::vector<std::uint32_t> weights;
  std::vector<std::uint32_t> row;  // working memory: a source row in four-byte pixels
};

// The same if bytes can be multiplied: sixteen result columns, a window of 64 or 128 bytes of the source row, in which
// place[4 * i + k] is the red byte of column i's tap k. Each further group of four taps is 12 bytes later.
struct AcrossByteBlock {
  alignas(64) std::uint8_t place[64];
  int begin;         // byte of the source row where the window begins
  bool one_vector;   // its first 64 bytes hold all taps
  int groups;        // of four taps
  std::size_t from;  // its weights: for each group 16 words of the highest digits, of the next and of the last
};
struct AcrossByBytes {
  bool made = false;
  bool fits = false;  // false: windows that are too small, or a weight beyond three digits
  int reach = 0;      // bytes from a row's begin to the end of the last window
  std::vector<AcrossByteBlock> blocks;
  std::vector<std::uint32_t> weights;
};

struct AcrossForms {
  PairedWeights pairs;
  AcrossBy16 by_16;
  AcrossByBytes by_bytes;
  void weights_changed() { pairs.made = by_16.made = by_bytes.made = false; }
};

// One result row from the rows of n bytes from `in` on, the first that position y reads:
// out[i] = clip((sum_k w[k] * in[k * stride + i] + 2^21) >> 22) for i < n. Writes exactly n bytes.
struct DownRow {
  AxisWeights weights;
  int y = 0;
  const std::uint8_t* in = nullptr;
  std::ptrdiff_t stride = 0;
  std::size_t n = 0;
  std::uint8_t* out = nullptr;
};
void resample_down(const DownRow& job, DownForms& forms);

// Rows across. Rows of `out` need kRowSlack bytes after them.
struct AcrossRows {
  AxisWeights weights;
  const std::uint8_t* in = nullptr;
  std::ptrdiff_t in_stride = 0;
  int rows = 0;
  int in_width = 0;  // pixels that may be read
  std::uint8_t* out = nullptr;
  std::ptrdiff_t out_stride = 0;
};
void resample_across_rgb(const AcrossRows& job, AcrossForms& forms);

// Variants for single instruction sets. False, and nothing written, if another set is in use or the weights do not fit.
bool resample_down_by_bytes(const DownRow& job, DigitWeights& form);
bool resample_across_rgb_by_bytes(const AcrossRows& job, AcrossByBytes& form);
bool resample_across_rgb_by_16(const AcrossRows& job, AcrossForms& forms);

// `multiple_of_taps`: the taps of a position are padded to a multiple of it.
void pair_weights(const AxisWeights& axis, int multiple_of_taps, PairedWeights& form);

// The plain code, for any number of channels and a range of columns or bytes; the vector code must give the same.
void resample_down_plain(const DownRow& job, std::size_t begin, std::size_t end);
void resample_across_plain(const AcrossRows& job, int channels, int first_column, int last_column);

inline std::uint8_t clip_weighted_sum(std::int32_t sum) {
  const std::int32_t v = sum >> kWeightBits;
  return static_cast<std::uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v);
}

}  // namespace ridgeline::image
