// ridgeline/graph/op/matmul.h
//
// y[..., i, j] = sum over k of a[..., i, k] * b[..., k, j], products of the matrices in the last two axes; transpose_a
// and transpose_b read those of a or b the other way round. Axes in front are matched from the last one on, and one of
// extent 1, or none, is repeated, as NumPy's matmul does.
#pragma once

#include <cstdint>
#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// The product as kernels see it: matrices one behind the other.
struct MatmulForm {
  std::int64_t rows = 0, columns = 0, depth = 0;
  bool transpose_a = false, transpose_b = false;
  std::vector<std::int64_t> batch;             // the axes of y in front of its matrices
  std::vector<std::int64_t> a_steps, b_steps;  // from one matrix to the next along each of them; 0: the same again

  std::int64_t matrices() const;
  // The matrices of a and of b whose product is matrix `index` of y.
  std::int64_t a_matrix(std::int64_t index) const { return matrix(a_steps, index); }
  std::int64_t b_matrix(std::int64_t index) const { return matrix(b_steps, index); }
  // Where all matrices of a meet one of b, their rows are rows of one matrix.
  MatmulForm merged() const;

 private:
  std::int64_t matrix(const std::vector<std::int64_t>& steps, std::int64_t index) const;
};

// Of operands that the op takes.
MatmulForm matmul_form(const Shape& a, const Shape& b, const Attributes& attributes);

OpDef matmul_op();

}  // namespace ridgeline
