#include "ridgeline/train/recipe/several_ranks.h"

#include <fmt/format.h>

#include "ridgeline/core/error.h"

namespace ridgeline::train {
namespace {

[[noreturn]] void refuse_ranks(const std::string& flag, const char* why, const char* with = "several ranks") {
  throw Error(fmt::format("{} with {}: {}", flag, with, why), ErrorKind::usage);
}

}  // namespace

Recipe for_rank(const Recipe& given, const RunRanks& ranks) {
  Recipe recipe = given;
  recipe.ranks = ranks.data_ranks();
  recipe.rank = ranks.rank();
  recipe.servers = ranks.servers;
  if (recipe.rank == 0) return recipe;
  recipe.trace.clear();
  recipe.export_step.clear();
  recipe.dump_ir.clear();
  recipe.explain = false;
  return recipe;
}

void check_ranks(const Recipe& recipe) {
  const ParallelSettings& parallel = recipe.parallel;
  if (recipe.servers == 0 && !parallel.server_parameters.empty())
    refuse_ranks("--server_parameters", "there are none that keep parameters (ridgeline launch --servers N)",
                 "no parameter servers");
  if (recipe.ranks + recipe.servers == 1) return;
  if (recipe.servers > 0 && (parallel.pipelined() || parallel.divides() || parallel.mode == "stand_alone")) {
    refuse_ranks(parallel.pipelined() ? fmt::format("--pipeline_stages={}", parallel.pipeline_stages)
                                      : "--parallel_mode=" + parallel.mode,
                 "the workers divide the batches (allowed: data_parallel, no stages)", "parameter servers");
  }
  if (!recipe.tune.empty()) refuse_ranks("--tune", "the ranks could choose kernels whose gradients lie differently");
  if (!recipe.dump.path.empty())
    refuse_ranks("--dump_path", "the step is computed again by one rank, and it exchanges values");
  if (recipe.is_weight_update_sharding && !recipe.export_step.empty())
    refuse_ranks("--export_step", "with --is_weight_update_sharding a rank has its part of the slots only");
  const char* flag = needs_whole_model(recipe);
  if (flag == nullptr || !recipe.divides()) return;
  if (recipe.servers > 0)
    refuse_ranks(flag, "no rank holds all of the model's values (train, then evaluate or export the checkpoints)",
                 "parameter servers");
  refuse_ranks(flag, "the ranks hold parts of the model (allowed with --parallel_mode=data_parallel, no stages)");
}

std::string ranks_text(const Recipe& recipe) {
  const char* when = recipe.hcom_parallel ? "beside the backward pass" : "behind the backward pass";
  if (recipe.servers > 0)
    return fmt::format("worker 0 of {}, {} parameter server{}: gradients are pushed {}", recipe.ranks, recipe.servers,
                       recipe.servers == 1 ? "" : "s", when);
  return fmt::format("rank 0 of {}: gradients are exchanged {}", recipe.ranks, when);
}

}  // namespace ridgeline::train
