#include "ridgeline/device/cpu/copy/strided_copy.h"

#include <emmintrin.h>

#include <algorithm>
#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"

namespace ridgeline::device {
namespace {

// A square whose rows fill 16 bytes, with rows and columns exchanged: `from` and `to` are the distances of its rows. By
// halves: pairs of elements, pairs of those, and so on. SSE2, which every x86-64 has.
template <class T>
constexpr std::int64_t kSquare = sizeof(T) == 2 || sizeof(T) == 4 ? 16 / static_cast<std::int64_t>(sizeof(T)) : 0;

__m128i load_row(const void* at) { return _mm_loadu_si128(static_cast<const __m128i*>(at)); }
void store_row(void* at, __m128i row) { _mm_storeu_si128(static_cast<__m128i*>(at), row); }

void turn_square(const std::uint16_t* in, std::int64_t from, std::uint16_t* out, std::int64_t to) {
  __m128i a[8], b[8];
  for (int i = 0; i < 8; ++i) a[i] = load_row(in + i * from);
  for (int i = 0; i < 4; ++i) {
    b[2 * i] = _mm_unpacklo_epi16(a[i], a[i + 4]);
    b[2 * i + 1] = _mm_unpackhi_epi16(a[i], a[i + 4]);
  }
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = _mm_unpacklo_epi16(b[i], b[i + 4]);
    a[2 * i + 1] = _mm_unpackhi_epi16(b[i], b[i + 4]);
  }
  for (int i = 0; i < 4; ++i) {
    store_row(out + 2 * i * to, _mm_unpacklo_epi16(a[i], a[i + 4]));
    store_row(out + (2 * i + 1) * to, _mm_unpackhi_epi16(a[i], a[i + 4]));
  }
}

void turn_square(const std::uint32_t* in, std::int64_t from, std::uint32_t* out, std::int64_t to) {
  __m128i a[4], b[4];
  for (int i = 0; i < 4; ++i) a[i] = load_row(in + i * from);
  for (int i = 0; i < 2; ++i) {
    b[2 * i] = _mm_unpacklo_epi32(a[i], a[i + 2]);
    b[2 * i + 1] = _mm_unpackhi_epi32(a[i], a[i + 2]);
  }
  for (int i = 0; i < 2; ++i) {
    store_row(out + 2 * i * to, _mm_unpacklo_epi32(b[i], b[i + 2]));
    store_row(out + (2 * i + 1) * to, _mm_unpackhi_epi32(b[i], b[i + 2]));
  }
}

}  // namespace

StridedCopy::StridedCopy(std::vector<std::int64_t> sizes, std::vector<std::int64_t> from_strides,
                         std::vector<std::int64_t> to_strides, std::int64_t from_offset, std::int64_t to_offset,
                         std::size_t element_size)
    : from_offset_(from_offset), to_offset_(to_offset), element_size_(element_size) {
  // Neighbouring axes that are one run on both sides become one.
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
  // Tiles of a few columns: the lines of either side are read or written whole while they are in cache.
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
  // Rows are cut too, so that one large plane keeps the whole team busy: into bands of about the same size, whole
  // squares, so that few are left over.
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
