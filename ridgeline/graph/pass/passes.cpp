#include "ridgeline/graph/pass/passes.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/pass/data_parallel.h"
#include "ridgeline/graph/pass/fold_norm.h"
#include "ridgeline/graph/pass/fuse_penalty.h"
#include "ridgeline/graph/pass/fuse_pointwise.h"
#include "ridgeline/graph/pass/fuse_updates.h"
#include "ridgeline/graph/pass/fusion/patterns.h"
#include "ridgeline/graph/pass/inline.h"
#include "ridgeline/graph/pass/parameter_server.h"
#include "ridgeline/graph/pass/pipeline.h"
#include "ridgeline/graph/pass/precision.h"
#include "ridgeline/graph/pass/recompute.h"
#include "ridgeline/graph/pass/schedule.h"
#include "ridgeline/graph/pass/shard.h"
#include "ridgeline/graph/pass/shard_updates.h"
#include "ridgeline/graph/pass/simplify.h"
#include "ridgeline/graph/pass/split_collectives.h"

namespace ridgeline {
namespace {

// For passes that need nothing but the graph.
template <Graph (*kRun)(Graph)>
Graph alone(Graph graph, const PassContext&, PassResults&) {
  return kRun(std::move(graph));
}

constexpr bool kRequired = true;
constexpr bool kFuses = true;
constexpr bool kLoops = true;

// A pass made of a fusion pattern.
template <const FusionPattern& kPattern>
Pass fused_form() {
  const auto run = [](Graph graph, const PassContext& context, PassResults& results) {
    return fuse(kPattern, std::move(graph), context, results);
  };
  return {kPattern.name, run, !kRequired, kFuses, kPattern.doc};
}

const Pass kPasses[] = {
    {"inline", alone<inline_calls>, kRequired, !kFuses, "replaces every call by the body of its function"},
    {"shard", shard, kRequired, !kFuses,
     "gives each rank a part of the dense layers that the parallel mode or their annotations divide"},
    {"pipeline", pipeline, kRequired, !kFuses,
     "cuts a step into stages for the ranks of a pipeline and its batch into micro-batches"},
    {"parameter_server", parameter_server, kRequired, !kFuses,
     "makes a worker's step of gradients or a server's step of updates, where there are servers"},
    {"data_parallel", data_parallel, kRequired, !kFuses,
     "averages gradients, statistics and returned numbers over the ranks of a distributed step"},
    {"shard_updates", shard_updates, kRequired, !kFuses,
     "splits slots and updates over the ranks of a distributed step, where that is asked for"},
    {"simplify", alone<simplify>, !kRequired, !kFuses,
     "folds constants, merges equal ops, drops ops that change nothing or are not read"},
    {"precision", precision, !kRequired, !kFuses,
     "stores values of some ops as bf16 or f16, by the precision mode and its op lists"},
    {"fold_norm", fold_norm, !kRequired, kFuses,
     "makes batch norm with constant statistics part of the weights in front of it"},
    fused_form<kFuseAddend>(),
    fused_form<kFuseEpilogue>(),
    fused_form<kFuseNormGradient>(),
    fused_form<kNarrowReluGrad>(),
    fused_form<kFuseMaxPool>(),
    fused_form<kFuseDataGradient>(),
    fused_form<kFusePoolGradient>(),
    {"fuse_updates", fuse_updates, !kRequired, kFuses,
     "merges the updates of small parameters into one launch, where the device can"},
    fused_form<kFuseDenseUpdate>(),
    {"fuse_penalty", fuse_penalty, !kRequired, kFuses,
     "takes the squares of an L2 penalty from the dense updates that read the weights anyway"},
    {"fuse_pointwise", fuse_pointwise, !kRequired, kFuses,
     "merges chains of pointwise ops, and a sum that ends one, into loops that the device takes", kLoops},
    {"group_updates", group_updates, !kRequired, kFuses,
     "merges the updates of larger parameters that have the same rule into one launch, where the device wants that"},
    {"split_collectives", alone<split_collectives>, kRequired, !kFuses,
     "makes a start and a done of every exchange between ranks"},
    {"recompute", recompute, !kRequired, !kFuses,
     "recomputes cheap values instead of keeping them, where that costs almost nothing or memory is limited"},
    {"schedule", alone<schedule>, !kRequired, !kFuses,
     "moves updates up to where their operands are ready, behind readers of old values"},
};

bool contains(std::span<const std::string> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::span<const Pass> passes() { return kPasses; }

std::vector<std::string> fusion_passes() {
  std::vector<std::string> names;
  for (const Pass& pass : kPasses) {
    if (pass.fuses) names.emplace_back(pass.name);
  }
  return names;
}

void check_disabled_passes(std::span<const std::string> disabled) {
  std::vector<std::string> optional;
  std::string list;
  for (const Pass& pass : kPasses) {
    if (pass.required) continue;
    optional.emplace_back(pass.name);
    list += (list.empty() ? "" : ", ") + optional.back();
  }
  for (const std::string& name : disabled) {
    const auto found =
        std::find_if(std::begin(kPasses), std::end(kPasses), [&](const Pass& p) { return p.name == name; });
    if (found == std::end(kPasses)) {
      throw Error(
          "unknown compiler pass '" + name + "'" + did_you_mean(name, optional) + " (can be left out: " + list + ")",
          ErrorKind::usage);
    }
    if (found->required) {
      throw Error("compiler pass '" + name + "' cannot be left out (those that can: " + list + ")", ErrorKind::usage);
    }
  }
}

Graph run_passes(Graph graph, const PassContext& context, PassResults& results, std::span<const std::string> disabled,
                 const std::function<void(const Pass&, const Graph&)>& after) {
  check_disabled_passes(disabled);
  for (const Pass& pass : kPasses) {
    if (contains(disabled, pass.name)) continue;
    graph = pass.run(std::move(graph), context, results);
    if (after) after(pass, graph);
  }
  return graph;
}

}  // namespace ridgeline
