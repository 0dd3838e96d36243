// ridgeline/train/value_dump.h
//
// Writes values of a step into a file, all of them or those of some ops: as tensors that `doctor compare` reads, or as
// a table of statistics. Functions only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ridgeline/train/step_values.h"

namespace ridgeline::train {

// Which values of the chosen ops: operands, results, or both.
enum class ValueSide { input, output, all };

struct ValueChoice {
  ValueSide side = ValueSide::all;
  std::vector<std::string> ops = {};  // patterns of names (* and ?); empty: every op
};
// Indices in step.values(), ascending.
std::vector<std::size_t> choose_values(const StepValues& step, const ValueChoice& choice);
std::vector<std::size_t> every_value(const StepValues& step);
// The same indices plus those of the ops' operands.
std::vector<std::size_t> with_inputs(const StepValues& step, const std::vector<std::size_t>& values);

// "conv1 (conv2d) net.cpp(14)"
std::string describe(const StepValue& value);

// A safetensors file; the metadata key "ridgeline_dump" has for every value its op, the op's operands, and the user's
// line.
void write_values(const std::string& path, StepValues& step, std::span<const std::size_t> values);
// A table (CSV): name, op, type, shape, not_finite, least, most, mean, deviation, root_mean_square, where.
void write_value_numbers(const std::string& path, StepValues& step, std::span<const std::size_t> values);

}  // namespace ridgeline::train
