// ridgeline/device/cpu/dense/few_rows.h
//
// Dense layers over few rows (a small batch), f32, bf16 or f16: y = x w^T, dx = dy w, dw = dy^T x, and the update of w
// with that gradient, which is then not stored. Only the pass over the weights takes time, so they are in plain rows,
// which is best for memory, and are read once (few_rows_products.h).
#pragma once

#include <optional>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/dense/few_rows_products.h"
#include "ridgeline/device/cpu/scratch.h"

namespace ridgeline::device {

// The number of rows up to which these kernels are faster than those that keep weights in the caches for many rows.
// Measured: docs/device-own.md.
std::int64_t most_few_rows(DType type);

// x [rows, inputs], dy [rows, outputs], w [outputs, inputs].
struct FewRows {
  std::int64_t rows = 0, inputs = 0, outputs = 0;
  DType type;  // of x and dy
  FewRows(const ValueType& x, const ValueType& w)
      : rows(x.shape[0]), inputs(x.shape[1]), outputs(w.shape[0]), type(x.dtype) {}

  static constexpr std::int64_t kMostInputs = 512;  // pieces of rows: long for the memory, short for the cache

  // Refuses too many rows, empty operands, and weights (operand or result) in another layout than plain rows.
  std::optional<Refusal> refusal(const KernelRequest& request, std::initializer_list<const KernelOperand*> w) const;
  // Whether there is too little work to wake the team's threads.
  bool small() const { return rows * inputs * outputs < (std::int64_t{1} << 16); }

  // Calls body(first, count, thread) for ranges of outputs with a few hundred kilobytes of weights each, on any thread.
  template <class Body>
  void for_outputs(const Body& body) const {
    const std::int64_t block = std::clamp<std::int64_t>(round_up((std::int64_t{128} << 10) / inputs, 8), 8, 512);
    for_parts(outputs, block, body);
  }
  // Calls body(first, count, thread) for ranges of at most kMostInputs inputs.
  template <class Body>
  void for_inputs(const Body& body) const {
    constexpr std::int64_t kNarrow = 64;
    const std::int64_t threads = compute_threads();
    const std::int64_t wide = round_up((inputs + kMostInputs - 1) / kMostInputs, threads);
    const std::int64_t parts = std::min(wide, (inputs + kNarrow - 1) / kNarrow);
    for_parts(inputs, round_up((inputs + parts - 1) / parts, kLineFloats), body);
  }

 private:
  template <class Body>
  void for_parts(std::int64_t n, std::int64_t part, const Body& body) const {
    const auto one = [&](std::int64_t item, int thread) { body(item * part, std::min(part, n - item * part), thread); };
    const std::int64_t items = (n + part - 1) / part;
    if (!small()) return for_each_item(items, one);
    for (std::int64_t item = 0; item < items; ++item) one(item, 0);
  }
};

// The distance of rows of this length, an odd number of cache lines: lengths are often multiples of 4 KB, and lines at
// such distances compete for few places in the cache.
constexpr std::int64_t few_rows_pitch(std::int64_t length) {
  return ((length + kLineFloats - 1) / kLineFloats | 1) * kLineFloats;
}

// The rows of an operand in f32: a single f32 row in place, others copied or converted to scratch memory.
class FewRowsOperand {
 public:
  FewRowsOperand(DType type, std::int64_t rows, std::int64_t length, Scratch& scratch)
      : type_(type),
        rows_(rows),
        length_(length),
        at_(type == DType::f32 && rows == 1 ? -1 : scratch.reserve(rows * few_rows_pitch(length))) {}
  RowsAt<float> read(const void* operand, void* scratch) const;

 private:
  DType type_;
  std::int64_t rows_, length_, at_;
};

}  // namespace ridgeline::device
