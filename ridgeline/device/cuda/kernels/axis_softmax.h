// ridgeline/device/cuda/kernels/axis_softmax.h
//
// Softmax over one axis of [outer, classes, inner], and its gradient. In f32, sums in double by a tree over the threads
// of a row (row_lanes.h). A row with a NaN, or with only -infinity, becomes NaN.
#pragma once

#include "ridgeline/device/cuda/kernels/row_lanes.h"

namespace ridgeline::cuda {

// Rows along the axis, counted through outer and inner.
struct AxisRows {
  i64 rows, classes;
  Divisor inner;
  RowLanes lanes;

  i64 elements() const { return rows * classes; }
  // The first element of a row.
  RIDGELINE_DEVICE i64 begin(i64 row) const {
    u32 outer = static_cast<u32>(row);
    const u32 column = inner.split(outer);
    return static_cast<i64>(outer) * classes * inner.value + column;
  }
};

template <class T>
struct AxisSoftmax {
  struct Parameters {
    const T* x;
    T* y;  // may be x
    AxisRows rows;
  };
  struct Shared {
    float largest[kLaneThreads];
    double sums[kLaneThreads];
  };
  static constexpr int kThreads = kLaneThreads;
  static Blocks blocks(const Parameters& p) { return {p.rows.lanes.blocks(p.rows.rows)}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.rows.elements());
    list.writes(p.y, p.rows.elements());
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const RowLanes& lanes = p.rows.lanes;
    const i64 rows = p.rows.rows, classes = p.rows.classes, step = p.rows.inner.value;
    join_lanes(
        block, lanes, rows, shared.largest,
        [&](i64 row, int, int lane) {
          float largest = -infinity_f32();
          const T* const x = p.x + p.rows.begin(row);
          for (i64 k = lane; k < classes; k += lanes.lanes) largest = larger(load_one(x + k * step), largest);
          return largest;
        },
        [](float& a, float b) { a = larger(a, b); });
    join_lanes(
        block, lanes, rows, shared.sums,
        [&](i64 row, int r, int lane) {
          double sum = 0;
          const T* const x = p.x + p.rows.begin(row);
          for (i64 k = lane; k < classes; k += lanes.lanes)
            sum += static_cast<double>(exp_of(load_one(x + k * step) - shared.largest[r]));
          return sum;
        },
        [](double& a, double b) { a += b; });
    each_lane(block, lanes, rows, [&](i64 row, int r, int lane) {
      const float scale = static_cast<float>(1.0 / shared.sums[r]);
      const i64 begin = p.rows.begin(row);
      for (i64 k = lane; k < classes; k += lanes.lanes) {
        const i64 at = begin + k * step;
        store_one(exp_of(load_one(p.x + at) - shared.largest[r]) * scale, p.y + at);
      }
    });
  }
};

// dx = y * (dy - sum of y * dy over the axis).
template <class T>
struct AxisSoftmaxGradient {
  struct Parameters {
    const T *y, *dy;
    T* dx;  // may be y or dy
    AxisRows rows;
  };
  struct Shared {
    double sums[kLaneThreads];
  };
  static constexpr int kThreads = kLaneThreads;
  static Blocks blocks(const Parameters& p) { return {p.rows.lanes.blocks(p.rows.rows)}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.y, p.rows.elements());
    list.reads(p.dy, p.rows.elements());
    list.writes(p.dx, p.rows.elements());
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const RowLanes& lanes = p.rows.lanes;
    const i64 rows = p.rows.rows, classes = p.rows.classes, step = p.rows.inner.value;
    join_lanes(
        block, lanes, rows, shared.sums,
        [&](i64 row, int, int lane) {
          double sum = 0;
          const i64 begin = p.rows.begin(row);
          for (i64 k = lane; k < classes; k += lanes.lanes) {
            const i64 at = begin + k * step;
            sum += static_cast<double>(load_one(p.y + at)) * static_cast<double>(load_one(p.dy + at));
          }
          return sum;
        },
        [](double& a, double b) { a += b; });
    each_lane(block, lanes, rows, [&](i64 row, int r, int lane) {
      const float sum = static_cast<float>(shared.sums[r]);
      const i64 begin = p.rows.begin(row);
      for (i64 k = lane; k < classes; k += lanes.lanes) {
        const i64 at = begin + k * step;
        store_one(load_one(p.y + at) * (load_one(p.dy + at) - sum), p.dx + at);
      }
    });
  }
};

#define RIDGELINE_AXIS_SOFTMAX_KERNELS(K)                      \
  K(axis_softmax_f32, AxisSoftmax<float>)                      \
  K(axis_softmax_bf16, AxisSoftmax<bfloat16>)                  \
  K(axis_softmax_f16, AxisSoftmax<float16>)                    \
  K(axis_softmax_gradient_f32, AxisSoftmaxGradient<float>)     \
  K(axis_softmax_gradient_bf16, AxisSoftmaxGradient<bfloat16>) \
  K(axis_softmax_gradient_f16, AxisSoftmaxGradient<float16>)

}  // namespace ridgeline::cuda
