// ridgeline/graph/op/dense_update.h
//
// The update of a dense layer's weights merged with their gradient, which is then not stored: dw = dy^T x, and the next
// states from the states, dw and scalars by a loop expression. Made by the pass fuse_dense_update.
#pragma once

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

OpDef dense_update_op();

// Where the operands and results of a dense_update are. Operands: the states (the weights first), x, dy, then scalars.
// Results: the next states, db if there is a bias, sum(w^2) if wanted, then rounded copies of next states.
struct DenseUpdate {
  std::size_t states = 0;
  bool bias = false;
  bool squares = false;
  explicit DenseUpdate(const Attributes& attributes);
  std::size_t x() const { return states; }
  std::size_t dy() const { return states + 1; }
  std::size_t scalars() const { return states + 2; }  // the first of them
  std::size_t bias_result() const { return states; }
  std::size_t squares_result() const { return states + (bias ? 1 : 0); }
  std::size_t copies() const { return squares_result() + (squares ? 1 : 0); }  // the first of them
  // The op's result that holds result i of the expression.
  std::size_t result_of(std::size_t i) const { return i < states ? i : copies() + i - states; }
};

}  // namespace ridgeline
