// ridgeline/graph/ir/annotations.h
//
// What a user may say of any op, in addition to its attributes, about the ranks that run it. An annotation is an
// attribute that no op needs: absent by default, kept by the text format, read and removed by the passes that
// distribute a step.
#pragma once

#include <span>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// How the op's work is divided: "data" (each rank its own batch), and of a dense layer "columns" (each rank computes
// some of the outputs) or "rows" (each rank sums over some of the inputs). Read by the pass `shard`.
inline constexpr const char* kShard = "shard";
// The stage of a pipeline that runs the op, from 0. Read by the pass `pipeline`.
inline constexpr const char* kStage = "stage";

std::span<const AttributeSpec> annotations();

}  // namespace ridgeline
