// ridgeline/graph/pass/pipeline.h
//
// Cuts a training step into stages, one a rank, and its batch into micro-batches. The given step is that of one
// micro-batch; this rank's step has inputs of all of them, runs its stage forward and backward for each in the order of
// the plan (gpipe or 1f1b), exchanges with the other stages by `transfer`, and updates its own parameters by the mean
// gradient. Parameters and states of other stages are no arguments of it.
// Keeps: what one rank computes as the mean over the micro-batches. Drops: the annotations.
#pragma once

#include <vector>

#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

// A forward op runs in the stage of its annotation, one without in the last stage of what it reads; where no op has
// one, stages are cut by cost (pipeline_plan.h). Backward ops and updates run in the stage of their forward op. Errors:
// stages that are not as many as the ranks, fewer micro-batches than stages, an annotation beyond the stages or in
// front of what its op reads, a parameter that two stages read, a stage without ops.
Graph pipeline(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
