#include "ridgeline/device/cpu/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"

namespace ridgeline::device {

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
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* in = from + row * rows_.from;
      T* out = to + row * rows_.to;
      for (std::int64_t i = tile; i < last; ++i) out[i * c.to] = in[i * c.from];
    }
  }
}

template <class T>
void StridedCopy::run_as(const T* from, T* to) const {
  // Rows are cut too, so that one large plane keeps the whole team busy.
  constexpr std::int64_t kRows = 32;
  const std::int64_t bands = (rows_.size + kRows - 1) / kRows;
  const std::int64_t grain =
      std::max<std::int64_t>(1, 16 * 1024 / std::max<std::int64_t>(1, columns_.size * std::min(kRows, rows_.size)));
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
      const std::int64_t first = task % bands * kRows;
      copy_plane(from + from_at + first * rows_.from, to + to_at + first * rows_.to,
                 std::min(kRows, rows_.size - first));
    }
  });
}

}  // namespace ridgeline::device
