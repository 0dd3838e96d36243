// ridgeline/device/cuda/kernels/softmax.h
//
// Cross-entropy of a softmax over rows, with label smoothing, and the gradient. A block takes a row: in f32, sums in
// double by a tree over threads. Labels are classes, or probabilities of each class. A label outside of the classes
// makes the row's loss and gradient NaN and is marked in `bad_labels`. Also counts rows whose label is among the k
// largest.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"

namespace ridgeline::cuda {

inline constexpr int kSoftmaxThreads = 128;

struct SoftmaxShared {
  float largest[kSoftmaxThreads];
  double sum[kSoftmaxThreads];
  double weighted[kSoftmaxThreads];
  double log_sum;
};

// Where a row's targets are read from.
template <class T>
struct SoftmaxTargets {
  const i32* labels;  // or
  const T* shares;    // [rows, classes]
  const T* mask;      // null: all rows count
  double smoothing;

  void pointers(i64 rows, i64 classes, PointerList& list) const {
    list.reads(labels, rows);
    list.reads(shares, rows * classes);
    list.reads(mask, rows);
  }
};

template <class T>
struct SoftmaxLoss {
  struct Parameters {
    const T* x;
    T* probabilities;
    T* loss;
    SoftmaxTargets<T> targets;
    u32* bad_labels;  // for each row 1 or 0; null: not wanted
    i64 rows, classes;
  };
  using Shared = SoftmaxShared;
  static constexpr int kThreads = kSoftmaxThreads;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(p.rows)}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.rows * p.classes);
    list.writes(p.probabilities, p.rows * p.classes);
    list.writes(p.loss, p.rows);
    list.writes(p.bad_labels, p.rows);
    p.targets.pointers(p.rows, p.classes, list);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const i64 row = block.x();
    const T* const x = p.x + row * p.classes;
    T* const y = p.probabilities + row * p.classes;
    block.each_thread([&](int thread) {
      float largest = -infinity_f32();
      for (i64 k = thread; k < p.classes; k += kThreads) largest = larger(load_one(x + k), largest);
      shared.largest[thread] = largest;
    });
    tree<kThreads>(block, kThreads, 1,
                   [&](int i, int j) { shared.largest[i] = larger(shared.largest[i], shared.largest[j]); });
    const bool shares = p.targets.shares != nullptr;
    const double uniform = p.targets.smoothing / static_cast<double>(p.classes);
    block.each_thread([&](int thread) {
      const float largest = shared.largest[0];
      double sum = 0, weighted = 0;
      for (i64 k = thread; k < p.classes; k += kThreads) {
        const float v = load_one(x + k);
        sum += static_cast<double>(exp_of(v - largest));
        if (shares) {
          const double q =
              (1 - p.targets.smoothing) * static_cast<double>(load_one(p.targets.shares + row * p.classes + k)) +
              uniform;
          if (q != 0) weighted += q * static_cast<double>(v - largest);
        } else if (p.targets.smoothing > 0) {
          weighted += static_cast<double>(v - largest);
        }
      }
      shared.sum[thread] = sum;
      shared.weighted[thread] = weighted;
    });
    tree<kThreads>(block, kThreads, 1, [&](int i, int j) {
      shared.sum[i] += shared.sum[j];
      shared.weighted[i] += shared.weighted[j];
    });
    block.each_thread([&](int thread) {
      const float largest = shared.largest[0];
      const float scale = static_cast<float>(1.0 / shared.sum[0]);
      for (i64 k = thread; k < p.classes; k += kThreads) store_one(exp_of(load_one(x + k) - largest) * scale, y + k);
    });
    if (shares) {
      block.each_thread([&](int thread) {
        if (thread == 0) shared.log_sum = log_of(shared.sum[0]);
      });
      block.each_thread([&](int thread) {
        double all = 0;
        for (i64 k = thread; k < p.classes; k += kThreads) {
          all += (1 - p.targets.smoothing) * static_cast<double>(load_one(p.targets.shares + row * p.classes + k)) +
                 uniform;
        }
        shared.sum[thread] = all;
      });
      tree<kThreads>(block, kThreads, 1, [&](int i, int j) { shared.sum[i] += shared.sum[j]; });
      block.each_thread([&](int thread) {
        if (thread != 0) return;
        const bool counts = p.targets.mask == nullptr || load_one(p.targets.mask + row) != 0;
        const double loss = shared.log_sum * shared.sum[0] - shared.weighted[0];
        store_one(counts ? static_cast<float>(loss) : 0.0f, p.loss + row);
        if (p.bad_labels != nullptr) p.bad_labels[row] = 0;
      });
      return;
    }
    block.each_thread([&](int thread) {
      if (thread != 0) return;
      const bool counts = p.targets.mask == nullptr || load_one(p.targets.mask + row) != 0;
      const i32 label = p.targets.labels[row];
      const bool bad = counts && (label < 0 || label >= p.classes);
      if (p.bad_labels != nullptr) p.bad_labels[row] = bad ? 1 : 0;
      if (!counts || bad) {
        store_one(counts ? nan_f32() : 0.0f, p.loss + row);
        return;
      }
      const double log_sum = log_of(shared.sum[0]);
      const double of_label = log_sum - static_cast<double>(load_one(x + label) - shared.largest[0]);
      const double of_all = log_sum - shared.weighted[0] / static_cast<double>(p.classes);
      const double smoothing = p.targets.smoothing;
      const double loss = (1 - smoothing) * of_label + (smoothing > 0 ? smoothing * of_all : 0);
      store_one(static_cast<float>(loss), p.loss + row);
    });
  }
};

// dx = (p * sum(q) - q) * dloss, 0 where the mask is.
template <class T>
struct SoftmaxLossGradient {
  struct Parameters {
    const T* probabilities;
    const T* dloss;
    T* dx;
    SoftmaxTargets<T> targets;
    i64 rows, classes;
  };
  using Shared = SoftmaxShared;
  static constexpr int kThreads = kSoftmaxThreads;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(p.rows)}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.probabilities, p.rows * p.classes);
    list.reads(p.dloss, p.rows);
    list.writes(p.dx, p.rows * p.classes);
    p.targets.pointers(p.rows, p.classes, list);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const i64 row = block.x();
    const bool shares = p.targets.shares != nullptr;
    const double uniform = p.targets.smoothing / static_cast<double>(p.classes);
    const auto share = [&](i64 k) {
      return (1 - p.targets.smoothing) * static_cast<double>(load_one(p.targets.shares + row * p.classes + k)) +
             uniform;
    };
    if (shares) {
      block.each_thread([&](int thread) {
        double all = 0;
        for (i64 k = thread; k < p.classes; k += kThreads) all += share(k);
        shared.sum[thread] = all;
      });
      tree<kThreads>(block, kThreads, 1, [&](int i, int j) { shared.sum[i] += shared.sum[j]; });
    }
    block.each_thread([&](int thread) {
      const T* const from = p.probabilities + row * p.classes;
      T* const dx = p.dx + row * p.classes;
      const bool counts = p.targets.mask == nullptr || load_one(p.targets.mask + row) != 0;
      const float g = load_one(p.dloss + row);
      const i32 label = shares ? 0 : p.targets.labels[row];
      const bool bad = label < 0 || label >= p.classes;
      const float all = shares ? static_cast<float>(shared.sum[0]) : 1.0f;
      for (i64 k = thread; k < p.classes; k += kThreads) {
        const double one = k == label ? 1 - p.targets.smoothing : 0;
        const float q = static_cast<float>(shares ? share(k) : one + uniform);
        const float d = (load_one(from + k) * all - q) * g;
        store_one(!counts ? 0.0f : bad ? nan_f32() : d, dx + k);
      }
    });
  }
};

// hit[row] = 1 if fewer than k logits are greater than the label's (k = 0: if the label is the first largest), all are
// finite, and the mask is not 0. A bad label is not a hit.
template <class T>
struct TopKHits {
  struct Parameters {
    const T* x;
    const i32* labels;
    const T* mask;  // null: all rows count
    i64 rows, classes, k;
    float* hits;  // [rows]
    u32* bad_labels;
  };
  struct Shared {
    i32 greater[kSoftmaxThreads];
    i32 infinite[kSoftmaxThreads];
  };
  static constexpr int kThreads = kSoftmaxThreads;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(p.rows)}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.rows * p.classes);
    list.reads(p.labels, p.rows);
    list.reads(p.mask, p.rows);
    list.writes(p.hits, p.rows);
    list.writes(p.bad_labels, p.rows);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const i64 row = block.x();
    const i32 label = p.labels[row];
    const bool counts = p.mask == nullptr || load_one(p.mask + row) != 0;
    const bool bad = label < 0 || label >= p.classes;
    block.each_thread([&](int thread) {
      const T* const x = p.x + row * p.classes;
      const float own = bad ? 0.0f : load_one(x + label);
      i32 greater = 0, infinite = 0;
      for (i64 c = thread; c < p.classes; c += kThreads) {
        const float v = load_one(x + c);
        greater += v > own || (p.k == 0 && c < label && v == own) ? 1 : 0;
        infinite += v - v == 0 ? 0 : 1;
      }
      shared.greater[thread] = greater;
      shared.infinite[thread] = infinite;
    });
    tree<kThreads>(block, kThreads, 1, [&](int i, int j) {
      shared.greater[i] += shared.greater[j];
      shared.infinite[i] += shared.infinite[j];
    });
    block.each_thread([&](int thread) {
      if (thread != 0) return;
      const bool among = shared.greater[0] < (p.k == 0 ? 1 : p.k);
      p.hits[row] = counts && !bad && among && shared.infinite[0] == 0 ? 1.0f : 0.0f;
      if (p.bad_labels != nullptr) p.bad_labels[row] = counts && bad ? 1 : 0;
    });
  }
};

#define RIDGELINE_SOFTMAX_KERNELS(K)                           \
  K(softmax_loss_f32, SoftmaxLoss<float>)                      \
  K(softmax_loss_bf16, SoftmaxLoss<bfloat16>)                  \
  K(softmax_loss_f16, SoftmaxLoss<float16>)                    \
  K(softmax_loss_gradient_f32, SoftmaxLossGradient<float>)     \
  K(softmax_loss_gradient_bf16, SoftmaxLossGradient<bfloat16>) \
  K(softmax_loss_gradient_f16, SoftmaxLossGradient<float16>)   \
  K(top_k_hits_f32, TopKHits<float>)                           \
  K(top_k_hits_bf16, TopKHits<bfloat16>)                       \
  K(top_k_hits_f16, TopKHits<float16>)

}  // namespace ridgeline::cuda
