// ridgeline/graph/pass/distribution.h
//
// Over which ranks a step is distributed, and how. A plain value; all fields except `rank` are the same on all ranks.
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
  hybrid_parallel,     // the same, but each rank has a shard of dense layers
  semi_auto_parallel,  // each op as its annotation says
  auto_parallel,       // dense layers divided so that the step takes least time, estimated from the ranks' rates
};
std::string_view name_of(ParallelMode mode);
// The mode of that name; an Error (usage) that lists all modes if there is none.
ParallelMode parallel_mode_named(std::string_view name);
std::span<const std::string_view> parallel_modes();

// How fast a rank computes and exchanges, for estimates of a step's time (step_price.h).
struct RankRates {
  double flops = 0;             // a second
  double memory_bytes = 0;      // a second
  double exchange_bytes = 0;    // a second that a rank sends and receives
  double exchange_latency = 0;  // seconds of one message, without its bytes
  double call_seconds = 0;      // of an exchange, whatever its size
  // Seconds from one rank to all by a tree, without the bytes; 0: unknown, exchanges use rings.
  double tree_seconds = 0;
  bool known() const { return flops > 0 && memory_bytes > 0 && exchange_bytes > 0; }
};

// The order in which a stage runs its micro-batches.
enum class PipelineOrder : std::uint8_t {
  gpipe,        // all forward, then all backward
  one_f_one_b,  // forward and backward alternate as early as possible: fewer micro-batches are in flight
};
std::string_view name_of(PipelineOrder order);
// The order named "gpipe" or "1f1b"; an Error (usage) for another name.
PipelineOrder pipeline_order_named(std::string_view name);

// The step is cut into stages, one a rank, and its batch into micro-batches (the pass `pipeline`).
struct PipelinePlan {
  std::int64_t stages = 1;  // 1: no pipeline; else the number of ranks
  std::int64_t micro_batches = 1;
  PipelineOrder order = PipelineOrder::one_f_one_b;
};

struct Distribution {
  std::int64_t ranks = 1;  // that have a batch; 1: not distributed
  std::int64_t rank = 0;   // this one, from 0
  std::string group = "world";
  bool overlap = true;  // exchanges run during the rest of the backward pass; else after it. Same bits
  SplitStrategy split = {};
  // Gradients that are summed over several batches of a step are exchanged for each batch instead of once, so that the
  // order of this sum, too, does not depend on the number of ranks.
  bool each_batch = false;
  bool shard_updates = false;  // each rank keeps and updates its shard of the slots (shard_updates.h)
  ParallelMode mode = ParallelMode::data_parallel;
  RankRates rates = {};  // for auto_parallel
  PipelinePlan pipeline = {};
  // Number of parameter servers (the pass `parameter_server`): the last ranks; the others are workers. 0: none.
  std::int64_t servers = 0;
  std::set<std::string, std::less<>> on_servers = {};  // names of the parameters that servers keep and update
  // False: a step that does not train. Parameters are divided as the mode says, and each rank returns its own results.
  bool training = true;

  // The number of ranks in `group`.
  std::int64_t world() const { return ranks + servers; }
};

// The group of the workers without the servers.
inline constexpr const char* kWorkersGroup = "workers";

}  // namespace ridgeline
