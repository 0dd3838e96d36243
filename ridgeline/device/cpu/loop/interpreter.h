// ridgeline/device/cpu/loop/interpreter.h
//
// The block functions of the loop interpreter: one vectorised primitive over one block, for AVX2 and AVX-512 (Highway).
// Each gives the bits of graph/loop/evaluate.h. Pure functions of their arguments; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ridgeline/device/cpu/loop/program.h"

namespace ridgeline::device {

struct BlockArguments {
  const float* a = nullptr;  // elements, or one value if the scalar mask says so
  const float* b = nullptr;
  const float* c = nullptr;
  const float* d = nullptr;
  const float* e = nullptr;
  void* to = nullptr;  // may equal a, b or c
  // Memory that the next block needs: `ahead_lines` cache lines are prefetched with every four vectors.
  const float* ahead = nullptr;
  int ahead_lines = 0;
  std::size_t count = 0;
  // For loads, uniform and sum:
  const void* source = nullptr;  // the operand from its first element
  const LoopOperand* operand = nullptr;
  std::int64_t first = 0;  // the block's first element in the loop; a multiple of 64
  std::uint64_t key = 0;
  std::uint64_t step = 0;
  double* sum = nullptr;  // where the block's sum goes
};

using BlockFunction = void (*)(const BlockArguments&);

// For the active ISA. Bit k of `scalars`: argument k of a, b, c is one value for all elements (not all arguments at
// once, except for copy, store_bool and sum).
BlockFunction block_function(LoopOp op, unsigned scalars);

}  // namespace ridgeline::device
