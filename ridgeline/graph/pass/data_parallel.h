// ridgeline/graph/pass/data_parallel.h
//
// Distributes a training step over ranks that have a batch each. Exchanged, as means over the ranks: the gradient of
// every update (in buckets, in the order of the backward pass, before it is scaled, clipped or decayed), states that
// follow from the batch (statistics of batch norms), and returned scalars that do. So every stored value stays the same
// on all ranks, but for sums over several batches of a step (accumulation), which are exchanged when the step ends.
// What computes another gradient reads the rank's own; everybody else reads the mean, and waits for it.
// Keeps: what a rank computes of its own batch. A step that is distributed already stays as it is.
#pragma once

#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

// An Error where a state follows from the batch and is no floating value: it would not be the same on all ranks.
Graph data_parallel(Graph graph, const PassContext& context, PassResults& results);

// The same for passes that make something else of the exchanges, over any number of ranks, one, too.
Graph with_mean_exchanges(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
