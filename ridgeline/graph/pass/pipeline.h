// ridgeline/graph/pass/pipeline.h
//
// Cuts a training step into stages, one for each rank, and its batch into micro-batches. The given step is that of one
// micro-batch. This rank's step has inputs for all of them, runs its stage forward and backward for each in the chosen
// order (gpipe or 1f1b), exchanges with the other stages by `transfer`, and updates its own parameters by the mean
// gradient. Parameters and states of other stages are not among its arguments.
// Keeps: what one rank computes as the mean over the micro-batches. Drops: the annotations.
#pragma once

#include <vector>

#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

// A forward op runs in the stage of its annotation; without one, in the latest stage of its operands. If no op has one,
// stages are cut by cost (pipeline_plan.h). Backward ops and updates run in the stage of their forward op. Errors: not
// as many stages as ranks, fewer micro-batches than stages, an annotation beyond the stages or earlier than the stage
// of an operand, a parameter that two stages read, a stage without ops.
Graph pipeline(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
