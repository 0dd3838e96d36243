// ridgeline/device/cpu/loop/straight.h
//
// Programs that one function runs from the first instruction to the last. A chain carries one value in registers and
// fetches the others again for each step; where a program keeps several alive, as updates with momentum do, that costs
// a third of its time in a cache. Which programs these are is a list of forms (straight.cpp): a program of a form's
// instructions runs so, whatever its scalars are and whoever made it. The bits are those of the block functions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "ridgeline/device/cpu/loop/program.h"

namespace ridgeline::device {

constexpr std::size_t kMaxStraightOperands = 3, kMaxStraightScalars = 3, kMaxStraightResults = 4;

struct StraightBlock {
  std::array<const float*, kMaxStraightOperands> operands{};  // the block's first elements
  std::array<const float*, kMaxStraightOperands> ahead{};     // what is asked for meanwhile, line by line; may be null
  std::array<void*, kMaxStraightResults> results{};
  std::array<float, kMaxStraightScalars> scalars{};
  std::size_t count = 0;
};

struct StraightCode {
  // Runs over whole vectors of the block's elements and returns how many those are.
  std::size_t (*run)(const StraightBlock& block) = nullptr;
  std::array<std::int32_t, kMaxStraightScalars> scalars{};  // of the program, in the form's order
  std::size_t operands = 0, results = 0;
};

// For the ISA in force now; none where the program has none of the forms.
std::optional<StraightCode> straight_code(const LoopProgram& program);

}  // namespace ridgeline::device
