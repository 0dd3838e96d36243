// ridgeline/device/cpu/loop/straight.h
//
// Programs that one function runs from the first instruction to the last. A chain carries one value in registers and
// reloads the others for each step; if a program keeps several alive, as updates with momentum do, that costs a third
// of its time on data in cache. The patterns are listed in straight.cpp: any program with the instructions of a pattern
// runs this way, whatever its scalars. The bits are those of the block functions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "ridgeline/device/cpu/loop/program.h"

namespace ridgeline::device {

constexpr std::size_t kMaxStraightOperands = 3, kMaxStraightScalars = 3, kMaxStraightResults = 4;

struct StraightBlock {
  std::array<const float*, kMaxStraightOperands> operands{};  // the block's first elements
  std::array<const float*, kMaxStraightOperands> ahead{};     // prefetched meanwhile, line by line; may be null
  std::array<void*, kMaxStraightResults> results{};
  std::array<float, kMaxStraightScalars> scalars{};
  std::size_t count = 0;
};

struct StraightCode {
  // Runs over whole vectors of the block's elements and returns how many elements these are.
  std::size_t (*run)(const StraightBlock& block) = nullptr;
  std::array<std::int32_t, kMaxStraightScalars> scalars{};  // of the program, in the pattern's order
  std::size_t operands = 0, results = 0;
};

// For the active ISA; none if the program matches no pattern.
std::optional<StraightCode> straight_code(const LoopProgram& program);

}  // namespace ridgeline::device
