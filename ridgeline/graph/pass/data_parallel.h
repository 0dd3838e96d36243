// ridgeline/graph/pass/data_parallel.h
//
// Distributes a training step over ranks that have a batch each. It exchanges, as means over the ranks: the gradient of
// every update (in buckets, in the order of the backward pass, before it is scaled, clipped or decayed), states that
// depend on the batch (statistics of batch norms), and returned scalars that do. So every stored value stays the same
// on all ranks, except sums over several batches of a step (accumulation), which are exchanged when the step ends. Ops
// that compute other gradients read the rank's own gradient; all others read the mean, and wait for it.
// Keeps: what a rank computes of its own batch. A step that is already distributed stays as it is.
#pragma once

#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

// An Error if a state that depends on the batch is not floating: it could not be kept the same on all ranks.
Graph data_parallel(Graph graph, const PassContext& context, PassResults& results);

// The same for passes that replace these exchanges by others; also over one rank.
Graph with_mean_exchanges(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
