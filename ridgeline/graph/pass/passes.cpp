#include "ridgeline/graph/pass/passes.h"

#include <algorithm>
#include <type_traits>

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

// Passes hand graphs on by moves. (Asked for here, since gcc 14 refuses its own library where the list of passes is the
// first to ask.)
static_assert(std::is_nothrow_move_constructible_v<Graph>);

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
     "divides dense layers over ranks, as the parallel mode or annotations of the layers say"},
    {"pipeline", pipeline, kRequired, !kFuses,
     "divides a step into pipeline stages, one for each rank, and its batch into micro-batches"},
    {"parameter_server", parameter_server, kRequired, !kFuses,
     "with parameter servers: makes the step of a worker (gradients) or of a server (updates)"},
    {"data_parallel", data_parallel, kRequired, !kFuses,
     "averages gradients, statistics and returned numbers over the ranks of a data-parallel step"},
    {"shard_updates", shard_updates, kRequired, !kFuses,
     "shards optimizer slots and updates over the ranks, if requested"},
    {"simplify", alone<simplify>, !kRequired, !kFuses,
     "folds constants, merges equal ops, removes ops without effect and unused ops"},
    {"precision", precision, !kRequired, !kFuses,
     "stores values of some ops as bf16 or f16, by the precision mode and its op lists"},
    {"fold_norm", fold_norm, !kRequired, kFuses,
     "folds batch norm with constant statistics into the weights of the layer before it"},
    fused_form<kFuseAddend>(),
    fused_form<kFuseEpilogue>(),
    fused_form<kFuseNormGradient>(),
    fused_form<kNarrowReluGrad>(),
    fused_form<kFuseMaxPool>(),
    fused_form<kFuseDataGradient>(),
    fused_form<kFusePoolGradient>(),
    {"fuse_updates", fuse_updates, !kRequired, kFuses,
     "merges the updates of small parameters into one launch, if the device can"},
    fused_form<kFuseDenseUpdate>(),
    {"fuse_penalty", fuse_penalty, !kRequired, kFuses,
     "computes the squares of an L2 penalty in the dense updates, which read the weights anyway"},
    {"fuse_pointwise", fuse_pointwise, !kRequired, kFuses,
     "merges chains of pointwise ops, and a final sum, into loops that the device can run", kLoops},
    {"group_updates", group_updates, !kRequired, kFuses,
     "merges the updates of larger parameters with the same rule into one launch, if the device prefers that"},
    {"split_collectives", alone<split_collectives>, kRequired, !kFuses,
     "splits each exchange between ranks into collective_start and collective_done"},
    {"recompute", recompute, !kRequired, !kFuses,
     "recomputes cheap values instead of keeping them, if that costs almost nothing or memory is limited"},
    {"schedule", alone<schedule>, !kRequired, !kFuses,
     "moves updates forward to where their operands are ready, but after readers of the old values"},
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
