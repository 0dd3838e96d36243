// ridgeline/device/cpu/depthwise/code.h
//
// The arithmetic of depthwise convolutions along a line of pixels: each channel by itself, a vector of them at a time.
// An element is one lane's sum over taps (or over pixels, for weights) in an order that depends on shapes alone.
#pragma once

#include <array>
#include <cstdint>

namespace ridgeline::device::depthwise {

// Filters of more taps are left to other kernels.
constexpr std::int64_t kMostTaps = 128;
// Channels of one piece of work.
constexpr std::int64_t kBlock = 64;

// One tap along a line of results: at position q it reads the pixel q * step + shift of a line of the image.
struct Tap {
  const float* line = nullptr;  // pixel 0, the block's first channel
  std::int64_t shift = 0;
  std::int64_t number = 0;  // of the filter's taps
};

// What all taps of a line share.
struct Line {
  std::array<Tap, kMostTaps> taps;
  std::int64_t tap_count = 0;
  std::int64_t positions = 0;  // of the line of results
  std::int64_t step = 1;       // pixels of the image from one position to the next
  std::int64_t length = 0;     // pixels of the lines of the image; what lies outside counts as zero
  std::int64_t image_channels = 0;
  std::int64_t channels = 0;  // of the block
};

struct LineResults {
  float* to = nullptr;             // position 0
  std::int64_t step = 0;           // floats from one position to the next
  const float* weights = nullptr;  // [tap][weight_channels], from the block's first channel
  std::int64_t weight_channels = 0;
  const float* bias = nullptr;    // may be null
  const float* addend = nullptr;  // laid out as `to`; may be null
  bool relu = false;
};

// to[q] = sum over taps of pixel * weight.
void run_line(const Line& line, const LineResults& results);

struct LineSums {
  const float* dy = nullptr;  // position 0, the block's first channel
  std::int64_t dy_step = 0;   // floats from one position to the next
  float* sums = nullptr;      // [tap][channels of the block], added to
};

// sums[tap] += sum over q of pixel * dy[q].
void add_line(const Line& line, const LineSums& sums);

}  // namespace ridgeline::device::depthwise
