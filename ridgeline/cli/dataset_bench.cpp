#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "ridgeline/cli/dataset_tools.h"
#include "ridgeline/cli/pipeline_flags.h"
#include "ridgeline/cli/recipe_flags.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/log.h"
#include "ridgeline/data/runtime/advice.h"
#include "ridgeline/data/tool/bench.h"

namespace ridgeline::cli {
namespace {

struct BenchFlags {
  PipelineFlags pipeline;
  train::RecipeArguments arguments;  // of it, what a bad sample does
  data::BenchOptions options;
  std::string jpeg_index_directory = "auto";
  bool json = false;
};

std::string in_flags(const data::RunStats& stats) {
  return data::advice_of(stats, {.workers = "--workers", .memory = "--memory_limit", .image_size = "--image_size"});
}

void print_json(const data::BenchReport& r) {
  nlohmann::ordered_json out;
  out["images_per_second"] = r.images_per_second;
  if (!r.sha256.empty()) out["sha256"] = r.sha256;
  out["peak_bytes"] = r.slot_bytes;
  out["peak_rss_bytes"] = r.rss_bytes;
  out["slots"] = r.slots;
  out["seconds"] = r.seconds;
  out["batches"] = r.batches;
  out["samples"] = r.samples;
  out["workers"] = r.workers;
  out["consumer_wait_seconds"] = r.stats.consumer_wait_seconds;
  out["bad_samples"] = r.bad_samples;
  out["jpeg_indices"] = r.stats.jpeg_indices;
  out["jpeg_index_bytes"] = r.stats.jpeg_index_bytes;
  out["jpeg_indices_on_disk"] = r.stats.jpeg_indices_on_disk;
  out["advice"] = in_flags(r.stats);
  out["stages"] = nlohmann::ordered_json::array();
  for (const data::StageStats& stage : r.stats.stages) {
    out["stages"].push_back({{"name", stage.name},
                             {"busy_seconds", stage.busy_seconds},
                             {"samples", stage.samples},
                             {"us_per_sample", stage.ns_per_sample() / 1000},
                             {"bytes_per_second", stage.bytes_per_second()}});
  }
  fmt::print("{}\n", out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_table(const data::BenchReport& r) {
  fmt::print("{:.1f} images/s: {} images in {} batches in {:.3f} s, {}\n", r.images_per_second, r.samples, r.batches,
             r.seconds,
             r.workers == 0   ? "pulled by the consumer"
             : r.workers == 1 ? "1 worker"
                              : fmt::format("{} workers", r.workers));
  fmt::print("{}", r.stats.to_string());
  fmt::print("memory: {:.1f} MB in {} batch slots, largest resident size of the process {:.1f} MB\n",
             static_cast<double>(r.slot_bytes) / 1e6, r.slots, static_cast<double>(r.rss_bytes) / 1e6);
  if (r.bad_samples > 0) fmt::print("bad samples: {}\n", r.bad_samples);
  if (!r.sha256.empty()) fmt::print("sha256 {}\n", r.sha256);
  if (const std::string advice = in_flags(r.stats); !advice.empty()) fmt::print("{}\n", advice);
}

int run_bench(const Command& app, const BenchFlags& flags) {
  data::BenchOptions options = flags.options;
  const auto at_least = [](const char* flag, std::int64_t value, std::int64_t least) {
    if (value < least)
      throw Error(fmt::format("--{}={} is out of range (allowed: {} or more)", flag, value, least), ErrorKind::usage);
  };
  at_least("workers", options.iterator.workers, 0);
  at_least("epochs", options.iterator.epochs, 1);
  at_least("warmup", options.warmup, 0);
  at_least("memory_limit", options.iterator.memory_limit, 0);
  at_least("slots", options.iterator.slots, 0);
  at_least("jpeg_index_memory", options.iterator.jpeg_index_memory, -1);
  if (options.iterator.pull && (options.iterator.workers != 0 || options.iterator.autotune))
    throw Error("--pull runs without workers: leave out --workers and --autotune", ErrorKind::usage);
  options.iterator.bad_samples = finish_bad_samples(app, flags.arguments);
  if (flags.jpeg_index_directory != "auto")
    options.iterator.jpeg_index_directory = flags.jpeg_index_directory == "none" ? "" : flags.jpeg_index_directory;
  Log log;
  options.iterator.log = &log;
  const data::Dataset dataset = dataset_of(app, flags.pipeline);
  if (const data::Progress count = counter("images")) {
    options.progress = [count](std::int64_t done, std::int64_t of) {
      if (of > 0) count(done, of);
    };
  }
  const data::BenchReport report = data::bench(dataset, options);
  if (flags.json) {
    print_json(report);
  } else {
    print_table(report);
  }
  return 0;
}

}  // namespace

DatasetTool add_dataset_bench(Command& dataset) {
  auto flags = std::make_shared<BenchFlags>();
  Command& app = dataset.subcommand(
      "bench", "time the data engine alone: by default random resized crop, flip, normalise, as in training");
  data::IteratorOptions& iterator = flags->options.iterator;
  app.option("--workers", iterator.workers, "data threads; 0: one per core");
  app.option("--epochs", iterator.epochs, "passes over the data");
  app.option("--warmup", flags->options.warmup,
             "batches before the clock starts; 0: the whole run is timed, its start included");
  app.option("--memory_limit", iterator.memory_limit,
             "bytes of prepared batches; 0: 512 MiB, or six batches, as memory allows");
  app.option("--slots", iterator.slots, "most batches that are prepared at one time; 0: as memory_limit allows");
  app.option("--jpeg_index_memory", iterator.jpeg_index_memory,
             "bytes for the indices that let later epochs skip to their crops; 0: none; -1: a sixteenth of the "
             "memory there is");
  app.option("--jpeg_index_directory", flags->jpeg_index_directory,
             "folder that keeps them for later runs: auto (the user's cache folder), none, or a folder");
  app.option("--disable_pass", iterator.disabled_passes,
             "leave this pass out, to see what it is worth; may be given several times");
  app.flag("--pull", iterator.pull, "no workers: the consumer does the work itself, the reference for results");
  app.flag("--autotune", iterator.autotune, "as few workers as the consumer needs");
  app.flag("--raw", iterator.raw_images, "leave flip and normalisation to the consumer, as `ridgeline train` does");
  app.flag("--hash", flags->options.hash,
           "SHA-256 over all columns of all batches; its time counts, so do not compare speeds with it");
  app.flag("--json", flags->json, "print one JSON object");
  add_pipeline_flags(app, flags->pipeline);
  add_recipe_flags(app, flags->arguments, {"bad_samples", "bad_sample_budget", "quarantine"}, "Bad samples");
  return {&app, [&app, flags] { return run_bench(app, *flags); }};
}

}  // namespace ridgeline::cli
