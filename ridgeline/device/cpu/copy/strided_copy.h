// ridgeline/device/cpu/copy/strided_copy.h
//
// Copies a box of elements between two strided arrays: what transposes, slices, pads and broadcasts have in common.
// Made once for fixed shapes; run() may be called from one thread at a time and uses the compute team.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ridgeline::device {

class StridedCopy {
 public:
  // For every index of the box `sizes`: to[to_offset + index*to_strides] = from[from_offset + index*from_strides].
  // Strides and offsets count elements of `element_size` (1, 2, 4 or 8) bytes. Destinations must be distinct.
  StridedCopy(std::vector<std::int64_t> sizes, std::vector<std::int64_t> from_strides,
              std::vector<std::int64_t> to_strides, std::int64_t from_offset, std::int64_t to_offset,
              std::size_t element_size);
  void run(const void* from, void* to) const;

 private:
  struct Axis {
    std::int64_t size, from, to;
  };
  template <class T>
  void run_as(const T* from, T* to) const;
  template <class T>
  void copy_plane(const T* from, T* to, std::int64_t rows) const;

  std::vector<Axis> outer_;  // iterated one by one: all except the two innermost
  Axis rows_{1, 0, 0};
  Axis columns_{1, 1, 1};
  std::int64_t outer_count_ = 1;
  std::int64_t from_offset_;
  std::int64_t to_offset_;
  std::size_t element_size_;
};

}  // namespace ridgeline::device
