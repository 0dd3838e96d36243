// ridgeline/train/rank_rates.h
//
// How fast the ranks of a run compute and exchange, for plans that go by cost: measured, or those of a cluster that is
// not here. Functions only.
#pragma once

#include "ridgeline/comm/communicator.h"
#include "ridgeline/comm/model/cluster.h"
#include "ridgeline/device/device.h"
#include "ridgeline/graph/pass/distribution.h"

namespace ridgeline::train {

inline constexpr const char* kMeasuredRates = "measured";

// Of the slowest rank, each on its device, the same on all: what arithmetic, memory and exchanges of a few bytes and of
// 8 MiB usually do, not at their best, while all ranks measure the same at once; so what else runs on the machine
// counts, and ranks that share a core. Takes one to two seconds; on the compute team of the calling thread.
RankRates measure_rates(comm::Communicator& ranks, Device& device);

// What the links of a cluster give one rank, as a ring over all ranks uses them, or a tree (comm/model/
// all_reduce_cost.h); its devices as fast as `device` says.
RankRates rates_of(const comm::Cluster& cluster, const RankRates& device);

}  // namespace ridgeline::train
