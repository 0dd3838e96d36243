// ridgeline/train/ranks/parallel_estimate.h
//
// How auto_parallel would divide a known model over the ranks of a cluster that is not here. A pure function.
#pragma once

#include <cstdint>
#include <string>

#include "ridgeline/comm/model/cluster.h"
#include "ridgeline/graph/pass/shard_plan.h"

namespace ridgeline::train {

// `model` by name, with batches of `batch_size` a rank on devices that need `seconds` for a step alone; gradients are
// exchanged beside the backward pass where `overlap`. An Error (usage) for a model that is not known.
ShardPlan estimate_shards(const std::string& model, std::int64_t batch_size, double seconds,
                          const comm::Cluster& cluster, bool overlap);

}  // namespace ridgeline::train
