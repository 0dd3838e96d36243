#include "ridgeline/image/png/predictions.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace ridgeline::image {
namespace {

enum Prediction : std::uint8_t { kNone, kLeft, kUp, kAverage, kPaeth, kPredictions };

// One row after the other: the bytes of a pixel side by side, computed in parallel.
using Lanes = std::int16_t __attribute__((vector_size(16)));
using ByteLanes = std::uint8_t __attribute__((vector_size(8)));
using Four = std::uint8_t __attribute__((vector_size(16)));  // of four rows a pixel each, where rows are in step

template <class T>
std::uint64_t word(const std::uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// N bytes in a register. Pieces of full words: bytes that are combined in memory cannot be read as one word until the
// processor has written them, which costs more than all of the arithmetic.
template <int N>
std::uint64_t bytes_at(const std::uint8_t* p) {
  if constexpr (N == 1) return *p;
  if constexpr (N == 2) return word<std::uint16_t>(p);
  if constexpr (N == 3) return word<std::uint16_t>(p) | std::uint64_t{p[2]} << 16;
  if constexpr (N == 4) return word<std::uint32_t>(p);
  if constexpr (N == 6) return word<std::uint32_t>(p) | word<std::uint16_t>(p + 4) << 32;
  if constexpr (N == 8) return word<std::uint64_t>(p);
}

template <int N>
Lanes load(const std::uint8_t* p) {
  const std::uint64_t value = bytes_at<N>(p);
  ByteLanes bytes;
  std::memcpy(&bytes, &value, sizeof bytes);
  return __builtin_convertvector(bytes, Lanes);
}

// Stores the values modulo 256, as in PNG, and returns them.
template <int N>
Lanes store(Lanes value, std::uint8_t* p) {
  value &= 255;
  const ByteLanes bytes = __builtin_convertvector(value, ByteLanes);
  std::uint64_t whole;
  std::memcpy(&whole, &bytes, sizeof whole);
  constexpr int kFirst = N >= 8 ? 8 : N >= 4 ? 4 : N >= 2 ? 2 : 1;
  std::memcpy(p, &whole, kFirst);
  if constexpr (N > kFirst) {
    whole >>= 8 * kFirst;
    std::memcpy(p + kFirst, &whole, N - kFirst);
  }
  return value;
}

Lanes magnitude(Lanes v) {
  const Lanes sign = v >> 15;
  return (v ^ sign) - sign;
}

template <int N>
void undo_left(std::uint8_t* row, std::size_t bytes) {
  Lanes left{};
  for (std::size_t i = 0; i < bytes; i += N) left = store<N>(load<N>(row + i) + left, row + i);
}

template <int N>
void undo_average(std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
  Lanes left{};
  for (std::size_t i = 0; i < bytes; i += N)
    left = store<N>(load<N>(row + i) + ((left + load<N>(above + i)) >> 1), row + i);
}

template <int N>
void undo_paeth(std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
  Lanes left{}, corner{};
  for (std::size_t i = 0; i < bytes; i += N) {
    const Lanes up = load<N>(above + i);
    const Lanes to_up = left - corner, to_left = up - corner;  // distances of the estimate left + up - corner
    const Lanes far_left = magnitude(to_left), far_up = magnitude(to_up), far_corner = magnitude(to_left + to_up);
    const Lanes up_or_corner = far_up <= far_corner ? up : corner;
    const Lanes predicted = (far_left <= far_up) & (far_left <= far_corner) ? left : up_or_corner;
    left = store<N>(load<N>(row + i) + predicted, row + i);
    corner = up;
  }
}

void undo_up(std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
  std::size_t i = 0;
  for (; i + sizeof(Four) <= bytes; i += sizeof(Four)) {
    Four a, b;
    std::memcpy(&a, row + i, sizeof a);
    std::memcpy(&b, above + i, sizeof b);
    a += b;
    std::memcpy(row + i, &a, sizeof a);
  }
  for (; i < bytes; ++i) row[i] = static_cast<std::uint8_t>(row[i] + above[i]);
}

// Of single bytes, as masks have them: areas of one value, of which eight pixels at a time are known without
// arithmetic.
void undo_paeth_of_areas(std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
  std::uint8_t left = 0, corner = 0;
  for (std::size_t i = 0; i < bytes;) {
    const std::size_t end = std::min(bytes, i + 8);
    if (end == i + 8 && word<std::uint64_t>(row + i) == 0) {
      // Where the left one is the corner, the nearest is the upper one, and the next one's left is its corner again.
      const std::uint64_t up = word<std::uint64_t>(above + i);
      const bool like_above = left == corner;
      if (like_above || up == corner * 0x0101010101010101u) {  // and where the upper one is the corner, the left one
        if (like_above) {
          std::memcpy(row + i, &up, sizeof up);
        } else {
          std::memset(row + i, left, 8);
        }
        left = row[i + 7];
        corner = above[i + 7];
        i = end;
        continue;
      }
    }
    for (; i < end; ++i) {
      const int up = above[i], to_left = std::abs(up - corner), to_up = std::abs(left - corner);
      const int to_corner = std::abs(left + up - 2 * corner);
      const int predicted = to_left <= to_up && to_left <= to_corner ? left : to_up <= to_corner ? up : corner;
      row[i] = left = static_cast<std::uint8_t>(row[i] + predicted);
      corner = above[i];
    }
  }
}

// `name` is a prediction's.
template <int N>
void undo_one(int name, std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
  switch (name) {
    case kLeft: return undo_left<N>(row, bytes);
    case kUp: return undo_up(row, above, bytes);
    case kAverage: return undo_average<N>(row, above, bytes);
    case kPaeth: return N == 1 ? undo_paeth_of_areas(row, above, bytes) : undo_paeth<N>(row, above, bytes);
    default: return;
  }
}

// Four rows in step. A pixel waits for the one left of it, so one row keeps the processor waiting; of four rows, each
// two pixels behind the one above it, a vector holds one pixel each, 4 bytes a row.
constexpr std::size_t kRows = 4, kBehind = 2, kLeast = 8;

Four larger(Four a, Four b) { return a > b ? a : b; }
Four smaller(Four a, Four b) { return a < b ? a : b; }
Four choose(Four mask, Four yes, Four no) { return (mask & yes) | (~mask & no); }
// The pixels of the first three rows in the places of the last three, zeros in that of the first.
Four one_row_down(Four v) {
  return __builtin_shufflevector(Four{}, v, 0, 1, 2, 3, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27);
}

// The one of left, up and corner that is nearest to left + up - corner, in 8 bits. `far_left` and `far_up` are how far
// left and up are from it. The corner is as far as both together where both lie on one side of the corner, and never
// chosen then, else as far as one is farther than the other.
[[gnu::always_inline]] inline Four paeth(Four left, Four up, Four corner) {
  const Four over_up = larger(up, corner) - corner, under_up = larger(corner, up) - up;
  const Four over_left = larger(left, corner) - corner, under_left = larger(corner, left) - left;
  const Four far_left = over_up | under_up, far_up = over_left | under_left;
  const Four nearer = smaller(far_left, far_up), farther = larger(far_left, far_up);
  // Zero where one is over the corner and the other under it, or one of them is equal to it.
  const Four one_side = smaller(over_up, over_left) | smaller(under_up, under_left);
  const auto corner_is_near = static_cast<Four>((one_side == 0) & (farther - nearer < nearer));
  return choose(corner_is_near, corner, choose(static_cast<Four>(nearer == far_left), left, up));
}

using Words = std::uint32_t __attribute__((vector_size(16)));

// A pixel of N bytes, 3 or 4; in the first form with the byte behind it.
std::uint32_t load_wide(const std::uint8_t* p) { return static_cast<std::uint32_t>(word<std::uint32_t>(p)); }
void store_wide(std::uint32_t value, std::uint8_t* p) { std::memcpy(p, &value, sizeof value); }
template <int N>
std::uint32_t load_pixel(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(bytes_at<N>(p));
}

// Their pixels, step by step.
struct InStep {
  Four paeths, averages, lefts, ups;  // all bits of the rows that have this prediction
  Four left{}, before{}, corner{};    // before: the step before `left`

  // The pixels of a step, of which `stored` is the difference to the prediction.
  [[gnu::always_inline]] Words step(Words stored, std::uint32_t above) {
    const Four up = reinterpret_cast<Four>(Words{above, 0, 0, 0}) | one_row_down(before);
    const Four average = (left & up) + (((left ^ up) >> 1) & 127);
    const Four predicted = (paeth(left, up, corner) & paeths) | (average & averages) | (left & lefts) | (up & ups);
    before = left;
    left = reinterpret_cast<Four>(stored) + predicted;
    corner = up;
    return reinterpret_cast<Words>(left);
  }
};

// Four contiguous rows from `first` on, of `pixels` pixels, at least kLeast.
template <int N>
void undo_four(std::uint8_t* first, std::size_t row_bytes, const std::uint8_t* above, std::size_t pixels) {
  std::uint8_t* row[kRows];
  Words uses[kPredictions] = {};
  for (std::size_t k = 0; k < kRows; ++k) {
    uses[first[k * (1 + row_bytes)]][k] = ~std::uint32_t{0};
    row[k] = first + k * (1 + row_bytes) + 1 - N * kBehind * k;  // so that it has its turn at the same place
  }
  const auto rows_with = [&](Prediction name) { return reinterpret_cast<Four>(uses[name]); };
  InStep rows{rows_with(kPaeth), rows_with(kAverage), rows_with(kLeft), rows_with(kUp)};
  // Where a row has no pixel: 0 before it begins, anything behind its end.
  const auto there = [&](std::size_t t, std::size_t k) { return t >= kBehind * k && t - kBehind * k < pixels; };
  const auto stored_at_edge = [&](std::size_t t) {
    Words stored{};
    for (std::size_t k = 0; k < kRows; ++k)
      if (there(t, k)) stored[k] = load_pixel<N>(row[k] + N * t);
    return stored;
  };
  const auto undo_at_edge = [&](std::size_t t, Words stored) {
    const Words values = rows.step(stored, there(t, 0) ? load_pixel<N>(above + N * t) : 0);
    for (std::size_t k = 0; k < kRows; ++k) {
      const std::uint32_t value = values[k];
      if (there(t, k)) std::memcpy(row[k] + N * t, &value, N);
    }
  };
  constexpr std::size_t kFirst = (kRows - 1) * kBehind;
  const std::size_t last = pixels - 1;
  for (std::size_t t = 0; t < kFirst; ++t) undo_at_edge(t, stored_at_edge(t));
  InStep inside = rows;  // in registers
  std::uint8_t *const row0 = row[0], *const row1 = row[1], *const row2 = row[2], *const row3 = row[3];
  const auto stored_at = [&](std::size_t at) {
    return Words{load_wide(row0 + at), load_wide(row1 + at), load_wide(row2 + at), load_wide(row3 + at)};
  };
  Words stored = stored_at(N * kFirst);
  for (std::size_t at = N * kFirst; at < N * last; at += N) {
    // What is written beyond a pixel is the next one's place, which has been read before.
    const Words next = stored_at(at + N);
    const Words values = inside.step(stored, load_wide(above + at));
    store_wide(values[0], row0 + at);
    store_wide(values[1], row1 + at);
    store_wide(values[2], row2 + at);
    store_wide(values[3], row3 + at);
    stored = next;
  }
  rows = inside;
  undo_at_edge(last, stored);
  for (std::size_t t = last + 1; t < pixels + kFirst; ++t) undo_at_edge(t, stored_at_edge(t));
}

constexpr bool in_step(int pixel_bytes) { return pixel_bytes == 3 || pixel_bytes == 4; }

// Undoes `wanted` bytes of each row; the number of rows before one whose prediction is unknown.
template <int N>
std::size_t undo_rows(const PngRows& rows, std::size_t wanted, const std::uint8_t* above) {
  const auto name = [&](std::size_t k) { return rows.row(k)[0]; };
  for (std::size_t k = 0; k < rows.count; above = rows.row(k - 1) + 1) {
    if constexpr (in_step(N)) {
      // Four at once, if one of them is slow alone.
      bool known = k + kRows <= rows.count && wanted >= N * kLeast, slow = false;
      for (std::size_t i = k; known && i < k + kRows; ++i) {
        known = name(i) < kPredictions;
        slow |= name(i) == kPaeth;
      }
      if (known && slow) {
        undo_four<N>(rows.row(k), rows.bytes, above, wanted / N);
        k += kRows;
        continue;
      }
    }
    if (name(k) >= kPredictions) return k;
    undo_one<N>(name(k), rows.row(k) + 1, above, wanted);
    ++k;
  }
  return rows.count;
}

}  // namespace

std::size_t undo_png_predictions(const PngRows& rows, std::size_t wanted, const std::uint8_t* above, int pixel_bytes) {
  switch (pixel_bytes) {
    case 1: return undo_rows<1>(rows, wanted, above);
    case 2: return undo_rows<2>(rows, wanted, above);
    case 3: return undo_rows<3>(rows, wanted, above);
    case 4: return undo_rows<4>(rows, wanted, above);
    case 6: return undo_rows<6>(rows, wanted, above);
    default: return undo_rows<8>(rows, wanted, above);
  }
}

}  // namespace ridgeline::image
