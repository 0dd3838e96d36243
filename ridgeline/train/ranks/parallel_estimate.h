// ridgeline/train/ranks/parallel_estimate.h
//
// How auto_parallel would divide a known model over the ranks of a modelled cluster. A pure function.
#pragma once

#include <cstdint>
#include <string>

#include "ridgeline/comm/model/cluster.h"
#include "ridgeline/graph/pass/shard_plan.h"

namespace ridgeline::train {

// `model` by name, with batches of `batch_size` a rank on devices that need `seconds` for a step alone; gradients are
// exchanged during the backward pass if `overlap`. An Error (usage) for an unknown model.
ShardPlan estimate_shards(const std::string& model, std::int64_t batch_size, double seconds,
                          const comm::Cluster& cluster, bool overlap);

}  // namespace ridgeline::train
