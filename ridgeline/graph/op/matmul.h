// ridgeline/graph/op/matmul.h
//
// y[..., i, j] = sum over k of a[..., i, k] * b[..., k, j]: products of the matrices in the last two axes; transpose_a
// and transpose_b transpose those of a or b. The axes in front are aligned from the last one on and broadcast as in
// NumPy's matmul.
#pragma once

#include <cstdint>
#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// The product as kernels see it: a sequence of matrices.
struct MatmulForm {
  std::int64_t rows = 0, columns = 0, depth = 0;
  bool transpose_a = false, transpose_b = false;
  std::vector<std::int64_t> batch;             // the axes of y in front of its matrices
  std::vector<std::int64_t> a_steps, b_steps;  // distance of neighbours along each of them; 0: the same matrix

  std::int64_t matrices() const;
  // The matrices of a and of b whose product is matrix `index` of y.
  std::int64_t a_matrix(std::int64_t index) const { return matrix(a_steps, index); }
  std::int64_t b_matrix(std::int64_t index) const { return matrix(b_steps, index); }
  // If all matrices of a are multiplied with one of b, a's rows merged into one matrix.
  MatmulForm merged() const;

 private:
  std::int64_t matrix(const std::vector<std::int64_t>& steps, std::int64_t index) const;
};

// Of operands that the op takes.
MatmulForm matmul_form(const Shape& a, const Shape& b, const Attributes& attributes);

OpDef matmul_op();

}  // namespace ridgeline
