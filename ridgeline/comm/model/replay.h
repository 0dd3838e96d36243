// ridgeline/comm/model/replay.h
//
// Estimates a measured step with its gradients exchanged on some cluster: how long it takes, how much of the exchange
// is hidden by the backward pass, and which buckets are best. Launches take as long as measured: what an exchange takes
// away from them (memory bandwidth, cores) is not in the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/comm/model/all_reduce_cost.h"

namespace ridgeline::comm {

// A launch of the step, in order.
struct StepPart {
  std::string name;
  double seconds = 0;
  std::int64_t gradient_bytes = 0;  // of the gradients that this launch finishes
  bool update = false;              // runs after the gradients have been exchanged
};

struct StepTimeline {
  std::vector<StepPart> parts;

  double seconds() const;
  std::int64_t gradient_bytes() const;
};

// A timeline whose launches take `factor` times as long: the same step on a faster device.
StepTimeline scaled(StepTimeline timeline, double factor);

// Gradients that are exchanged in one call: those up to `last` that no earlier bucket has. Indices count the launches
// that finish gradients, from 0, as in set_split_strategy_by_idx.
struct Bucket {
  int last = 0;
  std::int64_t bytes = 0;
  double ready = 0, start = 0, end = 0;  // seconds from the begin of the step
  ReduceAlgorithm algorithm = ReduceAlgorithm::ring;
};

struct Replay {
  double step_seconds = 0;
  double serial_seconds = 0;    // of the step with hcom_parallel off: the same calls after the backward pass
  double compute_seconds = 0;   // without exchange
  double exchange_seconds = 0;  // all calls together
  std::vector<Bucket> buckets;

  // The share of the exchange that the step does not wait for.
  double hidden_share() const;
};

// `lasts`: Bucket::last of each bucket, ascending, ending with the last gradient; anything else is an Error (kind
// usage).
Replay replay(const StepTimeline& timeline, const Cluster& cluster, const std::vector<int>& lasts);

// Ends of buckets that hold at least `bytes` each, except the last.
std::vector<int> buckets_of_size(const StepTimeline& timeline, std::int64_t bytes);

// Ends of at most `most` (1 to 64) buckets. For each number of buckets, the partition whose exchange finishes first is
// found (by dynamic programming over the ends); the result is the one of these with the shortest step, of equal ones
// that with the fewest buckets.
std::vector<int> best_buckets(const StepTimeline& timeline, const Cluster& cluster, int most);

// The size for buckets_of_size with the shortest step, among the powers of two from 64 KiB up to everything in one
// call.
std::int64_t best_bucket_size(const StepTimeline& timeline, const Cluster& cluster);

}  // namespace ridgeline::comm
