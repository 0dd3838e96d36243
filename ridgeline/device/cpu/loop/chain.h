// ridgeline/device/cpu/loop/chain.h
//
// A chain: consecutive instructions of a loop program, each of which reads the result of the one before. Eight vectors
// of elements stay in registers from the first to the last, so a value that only the next instruction reads is never
// stored, and one function call does eight vectors' work (tail calls from step to step). The bits are those of the
// block functions: the same primitives, element by element, in the same order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ridgeline/device/cpu/loop/program.h"

namespace ridgeline::device {

// Where a step's argument is.
enum class ChainSource : std::uint8_t {
  carried,  // in the registers
  memory,
  scalar,  // one value for all elements
};

// One function of a chain. `to` and memory arguments are slots of the program.
struct ChainStep {
  enum Kind : std::uint8_t {
    load,   // by `op` if that converts, else f32 from arguments[0]
    apply,  // `op`
    store,  // by `op` if that converts, else f32
    fetch,  // prefetches the first elements of `operand` for the next block
  };
  Kind kind = apply;
  LoopOp op = LoopOp::copy;
  std::array<ChainSource, 5> sources{};
  std::array<LoopSlot, 5> arguments{};
  LoopSlot to;
  std::int32_t operand = -1;  // of loads that convert, and of fetches
  std::int64_t bytes = 0;     // of an element: of fetches
};

struct Chain {
  std::size_t first = 0;  // instructions [first, end) of the program
  std::size_t end = 0;
  std::vector<ChainStep> steps;
};

// The chains of at least two instructions, in order; they do not overlap.
std::vector<Chain> find_chains(const LoopProgram& program);

// A step ready to run. The function's type depends on the instruction set: only this folder's vector code calls it.
struct ChainCall {
  void (*function)();
  const void* from[5];  // of memory arguments: the block's first element
  void* to;             // likewise
};

struct ChainCode {
  std::vector<ChainCall> calls;  // one more than there are steps; the last ends the chain
  // Runs calls over the block's first elements, as many of `count` as fill whole groups of eight vectors, and returns
  // that number.
  std::size_t (*run)(const ChainCall* calls, std::size_t count) = nullptr;
};

// For the active ISA; the caller sets `from` and `to`.
ChainCode chain_code(const Chain& chain);

}  // namespace ridgeline::device
