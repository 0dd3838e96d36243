// ridgeline/train/ranks/rank_rates.h
//
// How fast the ranks of a run compute and exchange, for divisions that are chosen by cost: measured, or those of a
// modelled cluster. Functions only.
#pragma once

#include "ridgeline/comm/communicator.h"
#include "ridgeline/comm/model/cluster.h"
#include "ridgeline/device/device.h"
#include "ridgeline/graph/pass/distribution.h"

namespace ridgeline::train {

inline constexpr const char* kMeasuredRates = "measured";

// The rates of the slowest rank, each on its device, the same on all: typical, not best, rates of arithmetic, memory
// and exchanges of a few bytes and of 8 MiB, while all ranks measure at the same time; so other load of the machine
// counts, and sharing of cores. Takes one to two seconds; on the compute team of the calling thread.
RankRates measure_rates(comm::Communicator& ranks, Device& device);

// The rates of one rank with the links of a cluster, used by a ring over all ranks or a tree
// (comm/model/all_reduce_cost.h), and with devices as fast as `device`.
RankRates rates_of(const comm::Cluster& cluster, const RankRates& device);

}  // namespace ridgeline::train
