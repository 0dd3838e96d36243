// ridgeline/graph/op/update_group.h
//
// One update of several parameters: the same loop expression for each of them. Made by the passes fuse_updates and
// group_updates.
#pragma once

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

OpDef update_group_op();

// Where the operands of an update_group are: first the states of every parameter (itself and its slots), one parameter
// after the other, then their gradients, then what all share (the learning rate). Results likewise: the next states of
// every parameter, then the copies of every parameter.
struct UpdateGroup {
  std::size_t states = 0;  // of a parameter
  std::size_t copies = 0;  // of a parameter: the last results of the expression
  std::size_t shared = 0;
  std::size_t parameters = 0;
  // For `operands` operands; an Error if that count fits no number of parameters.
  UpdateGroup(const Attributes& attributes, std::size_t operands);
  // Operands of parameter p, in the order of the expression.
  std::vector<std::size_t> operands_of(std::size_t p) const;
  // The same of results.
  std::vector<std::size_t> results_of(std::size_t p) const;
};

}  // namespace ridgeline
