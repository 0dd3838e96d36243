// ridgeline/device/cuda/kernels/row_norm.h
//
// Layer norm of rows, and its gradient with respect to x: a block has some rows, each with its own threads
// (row_lanes.h), with sums in double. For sample_norm.h, which has the list of kernels.
#pragma once

#include "ridgeline/device/cuda/kernels/row_lanes.h"

namespace ridgeline::cuda {

// Rounding may have made the variance negative; NaN stays.
RIDGELINE_DEVICE float inverse_deviation(double variance, double epsilon) {
  return static_cast<float>(1.0 / root(larger(variance, 0.0) + epsilon));
}

struct NormRows {
  i64 rows, channels;
  RowLanes lanes;
  i64 elements() const { return rows * channels; }
};

template <class T, int V>
struct RowNorm {
  struct Parameters {
    const T* x;
    const float *gamma, *beta;
    T* y;  // may be x
    float *mean, *inv_std;
    NormRows rows;
    double epsilon;
  };
  struct Shared {
    double sums[kLaneThreads];
    double squares[kLaneThreads];
  };
  static constexpr int kThreads = kLaneThreads;
  static Blocks blocks(const Parameters& p) { return {p.rows.lanes.blocks(p.rows.rows)}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.rows.elements());
    list.reads(p.gamma, p.rows.channels);
    list.reads(p.beta, p.rows.channels);
    list.writes(p.y, p.rows.elements());
    list.writes(p.mean, p.rows.rows);
    list.writes(p.inv_std, p.rows.rows);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const RowLanes& lanes = p.rows.lanes;
    const i64 rows = p.rows.rows, channels = p.rows.channels;
    const auto count = static_cast<double>(channels);
    const auto add = [](double& a, double b) { a += b; };
    join_lanes(
        block, lanes, rows, shared.sums,
        [&](i64 row, int, int lane) {
          double sum = 0;
          for (i64 c = lane * V; c < channels; c += lanes.lanes * V) {
            float x[V];
            load(p.x + row * channels + c, x);
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) sum += static_cast<double>(x[v]);
          }
          return sum;
        },
        add);
    join_lanes(
        block, lanes, rows, shared.squares,
        [&](i64 row, int r, int lane) {
          double squares = 0;
          const float mean = static_cast<float>(shared.sums[r] / count);
          for (i64 c = lane * V; c < channels; c += lanes.lanes * V) {
            float x[V];
            load(p.x + row * channels + c, x);
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) {
              const float d = x[v] - mean;
              squares += static_cast<double>(d) * static_cast<double>(d);
            }
          }
          return squares;
        },
        add);
    each_lane(block, lanes, rows, [&](i64 row, int r, int lane) {
      const double whole = shared.sums[r] / count;
      const float mean = static_cast<float>(whole);
      const double rest = whole - static_cast<double>(mean);  // the rounding error of the mean
      const float inv_std = inverse_deviation(shared.squares[r] / count - rest * rest, p.epsilon);
      for (i64 c = lane * V; c < channels; c += lanes.lanes * V) {
        float x[V];
        load(p.x + row * channels + c, x);
        RIDGELINE_UNROLL
        for (int v = 0; v < V; ++v) x[v] = (x[v] - mean) * inv_std * p.gamma[c + v] + p.beta[c + v];
        store(x, p.y + row * channels + c);
      }
      if (lane == 0) {
        p.mean[row] = mean;
        p.inv_std[row] = inv_std;
      }
    });
  }
};

// Only dx; the gradients of gamma and beta are summed by NormParameterSums.
template <class T, int V>
struct RowNormGradient {
  struct Parameters {
    const T *x, *dy;
    const float *gamma, *mean, *inv_std;
    T* dx;  // may be x or dy
    NormRows rows;
  };
  struct Sums {
    double of_dy, of_product;
  };
  struct Shared {
    Sums sums[kLaneThreads];
  };
  static constexpr int kThreads = kLaneThreads;
  static Blocks blocks(const Parameters& p) { return {p.rows.lanes.blocks(p.rows.rows)}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.rows.elements());
    list.reads(p.dy, p.rows.elements());
    list.reads(p.gamma, p.rows.channels);
    list.reads(p.mean, p.rows.rows);
    list.reads(p.inv_std, p.rows.rows);
    list.writes(p.dx, p.rows.elements());
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const RowLanes& lanes = p.rows.lanes;
    const i64 rows = p.rows.rows, channels = p.rows.channels;
    const auto count = static_cast<double>(channels);
    join_lanes(
        block, lanes, rows, shared.sums,
        [&](i64 row, int, int lane) {
          Sums sums{0, 0};
          const float mean = p.mean[row], inv_std = p.inv_std[row];
          for (i64 c = lane * V; c < channels; c += lanes.lanes * V) {
            float x[V], dy[V];
            load(p.x + row * channels + c, x);
            load(p.dy + row * channels + c, dy);
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) {
              const float g = dy[v] * p.gamma[c + v];
              sums.of_dy += static_cast<double>(g);
              sums.of_product += static_cast<double>(g) * static_cast<double>((x[v] - mean) * inv_std);
            }
          }
          return sums;
        },
        [](Sums& a, const Sums& b) {
          a.of_dy += b.of_dy;
          a.of_product += b.of_product;
        });
    each_lane(block, lanes, rows, [&](i64 row, int r, int lane) {
      const float mean = p.mean[row], inv_std = p.inv_std[row];
      const float of_dy = static_cast<float>(shared.sums[r].of_dy / count);
      const float of_product = static_cast<float>(shared.sums[r].of_product / count);
      for (i64 c = lane * V; c < channels; c += lanes.lanes * V) {
        float x[V], dy[V];
        load(p.x + row * channels + c, x);
        load(p.dy + row * channels + c, dy);
        RIDGELINE_UNROLL
        for (int v = 0; v < V; ++v)
          x[v] = (dy[v] * p.gamma[c + v] - of_dy - (x[v] - mean) * inv_std * of_product) * inv_std;
        store(x, p.dx + row * channels + c);
      }
    });
  }
};

}  // namespace ridgeline::cuda
