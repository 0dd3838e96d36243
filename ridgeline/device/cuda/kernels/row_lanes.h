// ridgeline/device/cuda/kernels/row_lanes.h
//
// How kernels that need a sum over each row before they write it divide their work: a block takes some rows, and a row
// has `lanes` threads, each with every k-th element. Where rows lie side by side (their elements do not), neighbouring
// threads have neighbouring rows; else neighbouring elements of one row. All follows from the shape.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"

namespace ridgeline::cuda {

inline constexpr int kLaneThreads = 256;

struct RowLanes {
  int lanes = 1;             // a power of two
  bool interleaved = false;  // rows lie side by side

  // Of rows of so many elements (or groups of elements that a thread reads at once).
  static RowLanes of(i64 elements, bool interleaved) {
    RowLanes r{1, interleaved};
    if (interleaved) {
      while (r.lanes < 8 && r.lanes < elements) r.lanes *= 2;
    } else {
      // A warp has a row where that is not too long for it.
      while (r.lanes < kLaneThreads && r.lanes < elements && (r.lanes < 32 || r.lanes * 8 < elements)) r.lanes *= 2;
    }
    return r;
  }
  RIDGELINE_DEVICE int rows() const { return kLaneThreads / lanes; }  // of a block
  RIDGELINE_DEVICE int row(int thread) const { return interleaved ? thread % rows() : thread / lanes; }
  RIDGELINE_DEVICE int lane(int thread) const { return interleaved ? thread / rows() : thread % lanes; }
  // Where a thread keeps its part of a sum in shared memory, for tree(block, lanes, rows()); row r's ends at r.
  RIDGELINE_DEVICE int place(int thread) const { return lane(thread) * rows() + row(thread); }
  u32 blocks(i64 all_rows) const { return static_cast<u32>(divided_up(all_rows, rows())); }
};

}  // namespace ridgeline::cuda
