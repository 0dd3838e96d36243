#include "ridgeline/train/recipe/parallel.h"

#include <fmt/format.h>

#include <charconv>

#include "ridgeline/comm/model/cluster.h"
#include "ridgeline/core/error.h"
#include "ridgeline/train/ranks/rank_rates.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {
namespace {

// "LAYER=VALUE"; the layer's name may hold a "=" itself.
std::pair<std::string, std::string> halves(const char* flag, const std::string& word, const char* meant) {
  const std::size_t at = word.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == word.size())
    throw Error(fmt::format("{}={}: {} is meant", flag, word, meant), ErrorKind::usage);
  return {word.substr(0, at), word.substr(at + 1)};
}

}  // namespace

const char* needs_whole_model(const Recipe& recipe) {
  if (!recipe.export_step.empty()) return "--export_step";
  if (recipe.histogram_steps > 0) return "--histogram_steps";
  if (recipe.is_weight_update_sharding) return "--is_weight_update_sharding";
  return nullptr;
}

std::vector<Annotation> shards_of(const ParallelSettings& settings) {
  std::vector<Annotation> all;
  for (const std::string& word : settings.shard_layer) {
    const auto [layer, how] = halves("--shard_layer", word, "LAYER=data, LAYER=columns or LAYER=rows");
    if (how != "data" && how != "columns" && how != "rows")
      throw Error(fmt::format("--shard_layer={}: '{}' (allowed: data, columns, rows)", word, how), ErrorKind::usage);
    all.push_back({layer, how});
  }
  return all;
}

std::vector<Annotation> stages_of(const ParallelSettings& settings) {
  std::vector<Annotation> all;
  for (const std::string& word : settings.stage_layer) {
    const auto [layer, text] = halves("--stage_layer", word, "LAYER=STAGE");
    std::int64_t stage = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), stage);
    if (error != std::errc() || rest != text.data() + text.size() || stage < 0 || stage >= settings.pipeline_stages)
      throw Error(fmt::format("--stage_layer={}: '{}' is no stage (allowed: 0 to {}, by --pipeline_stages)", word, text,
                              settings.pipeline_stages - 1),
                  ErrorKind::usage);
    all.push_back({layer, stage});
  }
  return all;
}

namespace {

[[noreturn]] void refuse_unread(const std::string& setting, const char* needs) {
  throw Error(setting + " has no effect: it needs " + needs, ErrorKind::usage);
}

// Refuses settings that the mode does not read.
void check_read(const ParallelSettings& settings, ParallelMode mode) {
  if (settings.rates != kMeasuredRates && mode != ParallelMode::auto_parallel)
    refuse_unread("--parallel_rates=" + settings.rates, "--parallel_mode=auto_parallel");
  const bool divides_layers = mode != ParallelMode::data_parallel && mode != ParallelMode::stand_alone;
  for (const std::string& word : settings.shard_layer) {
    if (!divides_layers && !word.ends_with("=data"))
      refuse_unread("--shard_layer=" + word, "--parallel_mode=semi_auto_parallel (or hybrid_parallel, auto_parallel)");
  }
  if (mode == ParallelMode::semi_auto_parallel && settings.shard_layer.empty())
    refuse_unread("--parallel_mode=semi_auto_parallel", "the layers to divide, as --shard_layer=LAYER=columns");
  if (settings.pipelined()) return;
  if (settings.micro_batches != 0)
    refuse_unread(fmt::format("--micro_batches={}", settings.micro_batches), "--pipeline_stages");
  if (settings.pipeline_order != ParallelSettings().pipeline_order)
    refuse_unread("--pipeline_order=" + settings.pipeline_order, "--pipeline_stages");
}

}  // namespace

void check(const ParallelSettings& settings, std::int64_t batch_size) {
  const ParallelMode mode = parallel_mode_named(settings.mode);
  pipeline_order_named(settings.pipeline_order);
  shards_of(settings);
  stages_of(settings);
  if (settings.rates != kMeasuredRates) comm::cluster_named(settings.rates);
  check_read(settings, mode);
  if (!settings.pipelined()) return;
  if (settings.mode != "data_parallel") {
    throw Error(fmt::format("--parallel_mode={} with --pipeline_stages={}: stages are not divided further (allowed: "
                            "data_parallel)",
                            settings.mode, settings.pipeline_stages),
                ErrorKind::usage);
  }
  const std::int64_t micro = settings.micro_batches_of_step();
  if (micro < settings.pipeline_stages || batch_size % micro != 0) {
    throw Error(
        fmt::format("--micro_batches={} with --pipeline_stages={} and --batch_size={} (allowed: as many as stages "
                    "or more, of equal size)",
                    micro, settings.pipeline_stages, batch_size),
        ErrorKind::usage);
  }
}

}  // namespace ridgeline::train
