#include "ridgeline/train/ranks/parallel_estimate.h"

#include "ridgeline/graph/pass/inline.h"
#include "ridgeline/graph/pass/step_price.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/ranks/rank_rates.h"

namespace ridgeline::train {
namespace {

// FLOPs for each byte of memory that a device does at most; the step's time says how fast it is.
constexpr double kFlopsPerByte = 50;

}  // namespace

ShardPlan estimate_shards(const std::string& model, std::int64_t batch_size, double seconds,
                          const comm::Cluster& cluster, bool overlap) {
  nn::StepOptions options;
  options.model = &nn::model_named(model);
  options.batch_size = batch_size;
  options.image_size = options.model->image_size;
  const Graph step = inline_calls(nn::build_training_step(options, {}).graph);
  const RankRates one{.flops = kFlopsPerByte, .memory_bytes = 1, .exchange_bytes = 1};
  const double faster = step_seconds(step, one) / seconds;
  const RankRates device{.flops = one.flops * faster, .memory_bytes = faster, .exchange_bytes = 1};
  return plan_shards(step, {.ranks = cluster.ranks(),
                            .overlap = overlap,
                            .mode = ParallelMode::auto_parallel,
                            .rates = rates_of(cluster, device)});
}

}  // namespace ridgeline::train
