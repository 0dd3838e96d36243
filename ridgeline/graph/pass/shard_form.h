// ridgeline/graph/pass/shard_form.h
//
// How a value of a step is distributed over the ranks once dense layers are divided, compared with the given step.
#pragma once

#include <cstdint>

namespace ridgeline::sharding {

enum class Form : std::uint8_t {
  given,    // as in the given step: of the rank's own batch, or the same on all ranks
  rows,     // the rows of all ranks' batches, rank 0's first
  columns,  // of all those rows, this rank's shard along the last axis
  part_0,   // of a parameter, and values of its shape: this rank's shard along axis 0
  part_1,   // the same along axis 1
};

constexpr bool is_part(Form form) { return form == Form::part_0 || form == Form::part_1; }
constexpr int axis_of(Form part) { return part == Form::part_0 ? 0 : 1; }

}  // namespace ridgeline::sharding
