#include "ridgeline/device/cpu/copy/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"

namespace ridgeline::device {
namespace {

// A square whose rows fill 16 bytes, with rows and columns exchanged: `from` and `to` are the distances of its rows. By
// halves: pairs of elements, pairs of those, and so on, in vectors that every processor has.
template <class T>
constexpr std::int64_t kSquare = sizeof(T) == 2 || sizeof(T) == 4 ? 16 / static_cast<std::int64_t>(sizeof(T)) : 0;

using Eight = std::uint16_t __attribute__((vector_size(16)));
using Four = std::uint32_t __attribute__((vector_size(16)));

Eight lower_pairs(Eight a, Eight b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
Eight upper_pairs(Eight a, Eight b) { return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }
Four lower_pairs(Four a, Four b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
Four upper_pairs(Four a, Four b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }

template <class Row, int kRows>
void pair_rows(const Row* in, Row* out) {
  for (int i = 0; i < kRows / 2; ++i) {
    out[2 * i] = lower_pairs(in[i], in[i + kRows / 2]);
    out[2 * i + 1] = upper_pairs(in[i], in[i + kRows / 2]);
  }
}

template <class Row, int kRows, class T>
void load_rows(const T* in, std::int64_t from, Row* rows) {
  for (int i = 0; i < kRows; ++i) std::memcpy(rows + i, in + i * from, sizeof(Row));
}

template <class Row, int kRows, class T>
void store_rows(const Row* rows, T* out, std::int64_t to) {
  for (int i = 0; i < kRows; ++i) std::memcpy(out + i * to, rows + i, sizeof(Row));
}

void turn_square(const std::uint16_t* in, std::int64_t from, std::uint16_t* out, std::int64_t to) {
  Eight a[8], b[8];
  load_rows<Eight, 8>(in, from, a);
  pair_rows<Eight, 8>(a, b);
  pair_rows<Eight, 8>(b, a);
  pair_rows<Eight, 8>(a, b);
  store_rows<Eight, 8>(b, out, to);
}

void turn_square(const std::uint32_t* in, std::int64_t from, std::uint32_t* out, std::int64_t to) {
  Four a[4], b[4];
  load_rows<Four, 4>(in, from, a);
  pair_rows<Four, 4>(a, b);
  pair_rows<Four, 4>(b, a);
  store_rows<Four, 4>(a, out, to);
}

}  // namespace

StridedCopy::StridedCopy(std::vector<std::int64_t> sizes, std::vector<std::int64_t> from_strides,
                         std::vector<std::int64_t> to_strides, std::int64_t from_offset, std::int64_t to_offset,
                         std::size_t element_size)
    : from_offset_(from_offset), to_offset_(to_offset), element_size_(element_size) {
  // Neighbouring axes that are contiguous on both sides become one.
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Axis axis{sizes[i], from_strides[i], to_strides[i]};
    if (axis.size == 1) continue;
    if (!axes.empty() && axes.back().from == axis.from * axis.size && axes.back().to == axis.to * axis.size) {
      axes.back() = {axes.back().size * axis.size, axis.from, axis.to};
    } else {
      axes.push_back(axis);
    }
  }
  // The plane of the two axes that are contiguous on either side is copied tile by tile; the columns are the axis along
  // which the destination is contiguous.
  const auto take = [&](auto less) {
    if (axes.empty()) return Axis{1, 1, 1};
    const auto at = std::min_element(axes.begin(), axes.end(), less);
    const Axis taken = *at;
    axes.erase(at);
    return taken;
  };
  columns_ = take([](const Axis& a, const Axis& b) { return a.to < b.to; });
  // A broadcast axis (stride 0) has nothing to gain from tiles.
  rows_ = take([](const Axis& a, const Axis& b) {
    return (a.from == 0 ? INT64_MAX : a.from) < (b.from == 0 ? INT64_MAX : b.from);
  });
  outer_ = std::move(axes);
  for (const Axis& axis : outer_) outer_count_ *= axis.size;
}

void StridedCopy::run(const void* from, void* to) const {
  switch (element_size_) {
    case 1: return run_as(static_cast<const std::uint8_t*>(from), static_cast<std::uint8_t*>(to));
    case 2: return run_as(static_cast<const std::uint16_t*>(from), static_cast<std::uint16_t*>(to));
    case 4: return run_as(static_cast<const std::uint32_t*>(from), static_cast<std::uint32_t*>(to));
    case 8: return run_as(static_cast<const std::uint64_t*>(from), static_cast<std::uint64_t*>(to));
    default: check_failed("element size", "1, 2, 4 or 8 bytes", std::source_location::current());
  }
}

template <class T>
void StridedCopy::copy_plane(const T* from, T* to, std::int64_t rows) const {
  const Axis& c = columns_;
  if (c.from == 1 && c.to == 1) {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::memcpy(to + row * rows_.to, from + row * rows_.from, static_cast<std::size_t>(c.size) * sizeof(T));
    }
    return;
  }
  if (c.from == 0 && c.to == 1) {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::fill(to + row * rows_.to, to + row * rows_.to + c.size, from[row * rows_.from]);
    }
    return;
  }
  // Tiles of a few columns: the lines of either side are read or written completely while they are in cache.
  constexpr std::int64_t kColumns = 32;
  for (std::int64_t tile = 0; tile < c.size; tile += kColumns) {
    const std::int64_t last = std::min(c.size, tile + kColumns);
    if constexpr (kSquare<T> > 0) {
      constexpr std::int64_t n = kSquare<T>;
      if (c.to == 1 && rows_.from == 1 && rows >= n && c.size >= n) {
        // The last squares hold values that are copied twice.
        for (std::int64_t row = 0; row < rows; row += n) {
          const std::int64_t first = std::min(row, rows - n);
          for (std::int64_t column = tile; column < last; column += n) {
            const std::int64_t at = std::min(column, c.size - n);
            turn_square(from + first + at * c.from, c.from, to + first * rows_.to + at, rows_.to);
          }
        }
        continue;
      }
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* in = from + row * rows_.from;
      T* out = to + row * rows_.to;
      for (std::int64_t i = tile; i < last; ++i) out[i * c.to] = in[i * c.from];
    }
  }
}

template <class T>
void StridedCopy::run_as(const T* from, T* to) const {
  // Rows are divided too, so that one large plane keeps the whole team busy: into bands of about the same size, of full
  // squares, so that few rows remain.
  constexpr std::int64_t kMostRows = 32, kRowGrain = 8;
  const std::int64_t least = std::max<std::int64_t>(1, (rows_.size + kMostRows - 1) / kMostRows);
  const std::int64_t band = std::max<std::int64_t>(1, (rows_.size + least - 1) / least);
  const std::int64_t rows = (band + kRowGrain - 1) / kRowGrain * kRowGrain;
  const std::int64_t bands = (rows_.size + rows - 1) / rows;
  const std::int64_t grain =
      std::max<std::int64_t>(1, 16 * 1024 / std::max<std::int64_t>(1, columns_.size * std::min(rows, rows_.size)));
  parallel_for(outer_count_ * bands, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      std::int64_t from_at = from_offset_;
      std::int64_t to_at = to_offset_;
      std::int64_t rest = task / bands;
      for (auto axis = outer_.rbegin(); axis != outer_.rend(); ++axis) {
        from_at += rest % axis->size * axis->from;
        to_at += rest % axis->size * axis->to;
        rest /= axis->size;
      }
      const std::int64_t first = task % bands * rows;
      copy_plane(from + from_at + first * rows_.from, to + to_at + first * rows_.to,
                 std::min(rows, rows_.size - first));
    }
  });
}

}  // namespace ridgeline::device
