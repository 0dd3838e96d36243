// ridgeline/comm/model/replay.h
//
// A measured step as if its gradients were exchanged on some cluster: how long it takes, how much of the exchange is
// hidden behind the backward part, and which buckets are best. Launches take as long as they did where they were
// measured: what an exchange takes away from them (memory bandwidth, cores) is not in the model.
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
  std::int64_t gradient_bytes = 0;  // of gradients that are finished when it ends
  bool update = false;              // runs when the gradients have been exchanged
};

struct StepTimeline {
  std::vector<StepPart> parts;

  double seconds() const;
  std::int64_t gradient_bytes() const;
};

// A timeline whose launches take `factor` times as long: the same step on a faster device.
StepTimeline scaled(StepTimeline timeline, double factor);

// Gradients that are exchanged in one call: parts up to `last` that no bucket before it has. Indices count the parts
// that finish gradients, from 0, as in set_split_strategy_by_idx.
struct Bucket {
  int last = 0;
  std::int64_t bytes = 0;
  double ready = 0, start = 0, end = 0;  // seconds from the begin of the step
  ReduceAlgorithm algorithm = ReduceAlgorithm::ring;
};

struct Replay {
  double step_seconds = 0;
  double serial_seconds = 0;    // of the step with hcom_parallel off: the same calls behind the backward part
  double compute_seconds = 0;   // without exchange
  double exchange_seconds = 0;  // all calls together
  std::vector<Bucket> buckets;

  // Of the exchange, what the step does not wait for.
  double hidden_share() const;
};

// `lasts`: of each bucket, ascending, the last one the last gradient; one that is not so is an Error (kind usage).
Replay replay(const StepTimeline& timeline, const Cluster& cluster, const std::vector<int>& lasts);

// Ends of buckets that hold `bytes` or more each, but for the last.
std::vector<int> buckets_of_size(const StepTimeline& timeline, std::int64_t bytes);

// Ends of at most `most` (1 to 64) buckets: of each number of them the partition with which the exchange is finished
// first (all are compared, by dynamic programming over their ends), and of those the one with the shortest step; of
// equal ones, the fewest.
std::vector<int> best_buckets(const StepTimeline& timeline, const Cluster& cluster, int most);

// The size for buckets_of_size with the shortest step: of the powers of two from 64 KiB to all in one call.
std::int64_t best_bucket_size(const StepTimeline& timeline, const Cluster& cluster);

}  // namespace ridgeline::comm
