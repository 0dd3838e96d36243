// ridgeline/device/cpu/loop/chain.h
//
// A chain: consecutive instructions of a loop program, each of which reads the result of the one before. Eight vectors
// of elements stay in registers from the first to the last, so a value that only the next instruction reads is never
// written, and one call of a function does eight vectors' work (tail calls from step to step). The bits are those of
// the block functions: the same primitives, element by element, in the same order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ridgeline/device/cpu/loop/program.h"

namespace ridgeline::device {

// What an argument of a step is.
enum class ChainSource : std::uint8_t {
  carried,  // in the registers
  memory,
  scalar,  // one value for all elements
};

// One function of a chain. `to` and memory arguments are places of the program.
struct ChainStep {
  enum Kind : std::uint8_t {
    load,   // of `op` where that converts, else f32 from arguments[0]
    apply,  // `op`
    store,  // of `op` where that converts, else f32
    fetch,  // asks for the elements of `operand` that the next block begins with
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

// The chains of two instructions and more, in order; they do not overlap.
std::vector<Chain> find_chains(const LoopProgram& program);

// A step ready to run. The function's type is that of its instruction set: only this folder's vector code calls it.
struct ChainCall {
  void (*function)();
  const void* from[5];  // of memory arguments: the block's first element
  void* to;             // likewise
};

struct ChainCode {
  std::vector<ChainCall> calls;  // one more than steps, which ends the chain
  // Runs calls over the block's first elements, as many of `count` as whole runs of eight vectors hold, and returns how
  // many those are.
  std::size_t (*run)(const ChainCall* calls, std::size_t count) = nullptr;
};

// For the ISA in force now; `from` and `to` are the caller's to set.
ChainCode chain_code(const Chain& chain);

}  // namespace ridgeline::device
