// ridgeline/device/cuda/cublas/product.h
//
// The matrix products of a dense layer by cuBLASLt: y[n,k] = sum over c of x[n,c] * w[k,c] and its two gradients, all
// row-major, with the ops fused after them; and products of many matrices, y[n,k] = sum over c of a[n,c] * b[c,k],
// where either operand may be transposed. Sums are f32.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ridgeline/core/dtype.h"
#include "ridgeline/device/cuda/cublas/functions.h"

namespace ridgeline::cuda::cublas {

enum class Pass { forward, backward_data, backward_weights, matrices };
std::string_view name_of(Pass pass);  // "dense", "dense_bwd_data", "dense_bwd_weights", "matmul"

struct Product {
  Pass pass = Pass::forward;
  std::int64_t rows = 0, inputs = 0, outputs = 0;  // n, c, k
  DType operands = DType::f32;
  DType written = DType::f32;
  bool tf32 = false;  // f32 operands are rounded to 10 bits for tensor cores
  // Of forward passes: y = relu(sums + addend + bias).
  bool bias = false, addend = false, relu = false;
  DType bias_type = DType::f32;
  // Of backward_weights: the sum of dy over the rows is a second result, of type bias_type.
  bool bias_gradient = false;
  // For matrix products: how many, and the elements from one matrix to the next in each operand (0: the same matrix);
  // results are contiguous.
  std::int64_t count = 1, first_step = 0, second_step = 0;
  bool transpose_first = false, transpose_second = false;

  double flops() const {
    return 2.0 * static_cast<double>(count) * static_cast<double>(rows) * static_cast<double>(inputs) *
           static_cast<double>(outputs);
  }
  // Everything that determines the algorithm, for reports.
  std::string text() const;
};

// The addresses of one run's values. First and second operand in the order of the graph's ops: x and w, dy and w, x and
// dy, a and b.
struct ProductAddresses {
  const void* first = nullptr;
  const void* second = nullptr;
  void* written = nullptr;
  const void* addend = nullptr;
  void* bias = nullptr;  // or its gradient
};

// A product with the algorithms that compute it, in the order of the library's heuristics. One thread at a time runs
// it; the handle outlives it.
class ProductPlan {
 public:
  // `workspace_bytes`: an upper limit. A Failure if the library has no algorithm.
  ProductPlan(const Functions& functions, Handle handle, const Product& product,
              std::size_t workspace_bytes = std::size_t{64} << 20, int algorithms = 8);

  std::size_t algorithms() const { return algorithms_.size(); }
  std::size_t chosen() const { return chosen_; }
  void choose(std::size_t index) { chosen_ = index; }
  // Of the chosen algorithm.
  std::size_t workspace_bytes() const { return algorithms_[chosen_].workspace_bytes; }
  std::string name() const;  // "algorithm 66 (tile 20, 2 splits)"
  // Enqueues the work on the stream.
  void run(const ProductAddresses& addresses, void* workspace, void* stream);

 private:
  using Destroyer = int (*)(RawDescriptor);
  using Owned = std::unique_ptr<void, Destroyer>;
  // For matrices that are `step` elements apart.
  Owned layout(DType type, std::int64_t rows, std::int64_t columns, std::int64_t step = 0) const;

  const Functions& functions_;
  Handle handle_;
  Product product_;
  Owned description_, a_, b_, d_;
  std::vector<HeuristicResult> algorithms_;
  std::size_t chosen_ = 0;
};

}  // namespace ridgeline::cuda::cublas
