// ridgeline/device/cuda/kernels/row_lanes.h
//
// How kernels that need a sum over each row before they write it divide their work: a block takes some rows, and a row
// has `lanes` threads, each with every k-th element. If rows are interleaved in memory, neighbouring threads have
// neighbouring rows; else neighbouring elements of one row. The division depends only on the shape.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"

namespace ridgeline::cuda {

inline constexpr int kLaneThreads = 256;

struct RowLanes {
  int lanes = 1;             // a power of two
  bool interleaved = false;  // rows are interleaved in memory

  // For rows of that many elements (or groups of elements that a thread reads at once).
  static RowLanes of(i64 elements, bool interleaved) {
    RowLanes r{1, interleaved};
    if (interleaved) {
      while (r.lanes < 8 && r.lanes < elements) r.lanes *= 2;
    } else {
      // A warp has a row unless that is too long for it.
      while (r.lanes < kLaneThreads && r.lanes < elements && (r.lanes < 32 || r.lanes * 8 < elements)) r.lanes *= 2;
    }
    return r;
  }
  RIDGELINE_DEVICE int rows() const { return kLaneThreads / lanes; }  // of a block
  RIDGELINE_DEVICE int row(int thread) const { return interleaved ? thread % rows() : thread / lanes; }
  RIDGELINE_DEVICE int lane(int thread) const { return interleaved ? thread / rows() : thread % lanes; }
  // The slot of a thread's partial sum in shared memory, for tree(block, lanes, rows()); row r's total ends at r.
  RIDGELINE_DEVICE int place(int thread) const { return lane(thread) * rows() + row(thread); }
  u32 blocks(i64 all_rows) const { return static_cast<u32>(divided_up(all_rows, rows())); }
};

// Calls each(row, r, lane) on each thread that has one of all `rows`: row r of its block.
template <class Block, class Each>
RIDGELINE_DEVICE void each_lane(Block& block, const RowLanes& lanes, i64 rows, const Each& each) {
  const i64 first = static_cast<i64>(block.x()) * lanes.rows();
  block.each_thread([&](int thread) {
    const int r = lanes.row(thread);
    if (first + r < rows) each(first + r, r, lanes.lane(thread));
  });
}

// Computes values[r] for each row r of the block: the results of of(row, r, lane), combined over the lanes by a tree.
template <class Block, class Value, class Of, class Join>
RIDGELINE_DEVICE void join_lanes(Block& block, const RowLanes& lanes, i64 rows, Value (&values)[kLaneThreads],
                                 const Of& of, const Join& join) {
  const i64 first = static_cast<i64>(block.x()) * lanes.rows();
  block.each_thread([&](int thread) {
    const int r = lanes.row(thread);
    values[lanes.place(thread)] = first + r < rows ? of(first + r, r, lanes.lane(thread)) : Value();
  });
  tree<kLaneThreads>(block, lanes.lanes, lanes.rows(), [&](int i, int j) { join(values[i], values[j]); });
}

}  // namespace ridgeline::cuda
