// ridgeline/train/value_dump.h
//
// Values of a step in a file, all of them or those of some ops: tensors that `doctor compare` reads, or a table of what
// can be said of each. Functions only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ridgeline/train/step_values.h"

namespace ridgeline::train {

// Of the ops that are chosen: what they read, what they make, or both.
enum class ValueSide { input, output, all };

struct ValueChoice {
  ValueSide side = ValueSide::all;
  std::vector<std::string> ops = {};  // patterns of names (* and ?); empty: every op
};
// Places in step.values(), ascending.
std::vector<std::size_t> choose_values(const StepValues& step, const ValueChoice& choice);
std::vector<std::size_t> every_value(const StepValues& step);
// With what their ops read.
std::vector<std::size_t> with_inputs(const StepValues& step, const std::vector<std::size_t>& values);

// "conv1 (conv2d) net.cpp(14)"
std::string describe(const StepValue& value);

// A safetensors file; the metadata key "ridgeline_dump" holds for every value its op, what that reads, and the user's
// line.
void write_values(const std::string& path, StepValues& step, std::span<const std::size_t> values);
// A table (CSV): name, op, type, shape, not_finite, least, most, mean, deviation, root_mean_square, where.
void write_value_numbers(const std::string& path, StepValues& step, std::span<const std::size_t> values);

}  // namespace ridgeline::train
