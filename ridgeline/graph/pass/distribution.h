// ridgeline/graph/pass/distribution.h
//
// Over which ranks a step is distributed, and how. A plain value; the same on all of them but for `rank`.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "ridgeline/graph/pass/split_strategy.h"

namespace ridgeline {

enum class ParallelMode : std::uint8_t {
  stand_alone,         // a rank trains by itself
  data_parallel,       // every rank has all parameters and batches of its own
  hybrid_parallel,     // convolutions and all else so; of dense layers, each rank has a part
  semi_auto_parallel,  // each op as its annotation says
  auto_parallel,       // dense layers as the step takes least time, by the rates of the ranks
};
std::string_view name_of(ParallelMode mode);
// By name; an Error (usage) that lists them for another one.
ParallelMode parallel_mode_named(std::string_view name);
std::span<const std::string_view> parallel_modes();

// How fast a rank computes and exchanges: what a step's price is made of (step_price.h).
struct RankRates {
  double flops = 0;             // a second
  double memory_bytes = 0;      // a second
  double exchange_bytes = 0;    // a second that a rank sends and receives
  double exchange_latency = 0;  // seconds of one message beside its bytes
  double call_seconds = 0;      // of an exchange, whatever its size
  // From one rank to all by a tree, beside the bytes; 0: not known, exchanges go around a ring.
  double tree_seconds = 0;
  bool known() const { return flops > 0 && memory_bytes > 0 && exchange_bytes > 0; }
};

// The order in which a stage runs its micro-batches.
enum class PipelineOrder : std::uint8_t {
  gpipe,        // all forward, then all backward
  one_f_one_b,  // forward and backward in turn as soon as can be: fewer micro-batches are in flight
};
std::string_view name_of(PipelineOrder order);
// "gpipe" or "1f1b"; an Error (usage) for another name.
PipelineOrder pipeline_order_named(std::string_view name);

// The step is cut into stages, one a rank, and its batch into micro-batches (the pass `pipeline`).
struct PipelinePlan {
  std::int64_t stages = 1;  // 1: none; else as many as there are ranks
  std::int64_t micro_batches = 1;
  PipelineOrder order = PipelineOrder::one_f_one_b;
};

struct Distribution {
  std::int64_t ranks = 1;  // that have a batch; 1: not at all
  std::int64_t rank = 0;   // this one, from 0
  std::string group = "world";
  bool overlap = true;  // exchanges run beside the rest of the backward pass; else behind it. The bits are the same
  SplitStrategy split = {};
  // Gradients that are summed over several batches of a step are exchanged for each batch, not once: then the order of
  // that sum, too, does not follow from the number of ranks.
  bool each_batch = false;
  bool shard_updates = false;  // each rank keeps and updates its part of the slots (shard_updates.h)
  ParallelMode mode = ParallelMode::data_parallel;
  RankRates rates = {};  // of auto_parallel
  PipelinePlan pipeline = {};
  // Parameter servers (the pass `parameter_server`): ranks behind the others, which are their workers; 0: none.
  std::int64_t servers = 0;
  std::set<std::string, std::less<>> on_servers = {};  // the parameters, by name, that they keep and update
  // Of a step that does not train: parameters are divided as the mode says, and what it returns is the rank's own.
  bool training = true;

  // All that are in `group`.
  std::int64_t world() const { return ranks + servers; }
};

// The group of the workers alone, where there are servers.
inline constexpr const char* kWorkersGroup = "workers";

}  // namespace ridgeline
