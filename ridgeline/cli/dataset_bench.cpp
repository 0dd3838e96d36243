#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "ridgeline/cli/dataset_tools.h"
#include "ridgeline/cli/pipeline_flags.h"
#include "ridgeline/cli/recipe_flags.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/log.h"
#include "ridgeline/data/runtime/advice.h"
#include "ridgeline/data/runtime/iterator_settings.h"
#include "ridgeline/data/tool/bench.h"

namespace ridgeline::cli {
namespace {

// Iterator settings whose flag has another name, and settings without a flag of their own (""): flags of the graph or
// for bad samples set them, or a bench does not need them. `help` and `least`, if given, replace those of the setting.
struct OtherFlag {
  std::string_view setting, flag, help = "";
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
};
constexpr std::array<OtherFlag, 9> kOtherFlags{{{"epochs", "epochs", "number of passes over the data", 1},  // it ends
                                                {"raw_images", "raw"},
                                                {"disabled_passes", "disable_pass"},
                                                {"seed", ""},
                                                {"start", ""},
                                                {"pad_last", ""},
                                                {"bad_samples", ""},
                                                {"bad_sample_budget", ""},
                                                {"quarantine", ""}}};
OtherFlag flag_of(const data::IteratorSetting& setting) {
  OtherFlag flag{setting.name, setting.name};
  for (const OtherFlag& other : kOtherFlags) {
    if (other.setting == setting.name) flag = other;
  }
  if (flag.help.empty()) flag.help = setting.help;
  flag.least = std::max(flag.least, setting.least);
  return flag;
}

// A setting and the value that its flag sets.
struct SettingFlag {
  const data::IteratorSetting* setting = nullptr;
  data::Value value;
};
// Flag values for an optional text: absent, and empty.
constexpr const char *kAbsent = "auto", *kEmpty = "none";

struct BenchFlags {
  PipelineFlags pipeline;
  train::RecipeArguments arguments;  // only its options for bad samples are used
  data::BenchOptions options;
  std::deque<SettingFlag> settings;  // a deque: the parser keeps pointers to elements
  bool json = false;
};

void add_setting_flags(Command& app, BenchFlags& flags) {
  for (const data::IteratorSetting& setting : data::iterator_settings()) {
    const OtherFlag known = flag_of(setting);
    if (known.flag.empty()) continue;
    const std::string name = fmt::format("--{}", known.flag), help(known.help);
    SettingFlag& flag = flags.settings.emplace_back(&setting, setting.get(flags.options.iterator));
    if (auto* truth = std::get_if<bool>(&flag.value)) {
      app.flag(name, *truth, help);
    } else if (auto* number = std::get_if<std::int64_t>(&flag.value)) {
      app.option(name, *number, help);
    } else if (auto* texts = std::get_if<data::Texts>(&flag.value)) {
      app.option(name, *texts, help + "; may be given several times");
    } else if (auto* text = std::get_if<std::string>(&flag.value)) {
      if (setting.may_be_absent) *text = kAbsent;
      app.option(name, *text,
                 setting.may_be_absent ? fmt::format("{} ({}: absent, {}: empty)", help, kAbsent, kEmpty) : help);
    }
  }
}

void check_least(std::string_view flag, std::int64_t value, std::int64_t least) {
  if (value < least)
    throw Error(fmt::format("--{}={} is out of range (allowed: {} or more)", flag, value, least), ErrorKind::usage);
}

void read_setting_flags(const BenchFlags& flags, data::IteratorOptions& options) {
  for (const auto& [setting, given] : flags.settings) {
    data::Value value = given;
    if (auto* text = std::get_if<std::string>(&value); text != nullptr && setting->may_be_absent) {
      if (*text == kAbsent) continue;
      if (*text == kEmpty) text->clear();
    }
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number != nullptr) {
      const OtherFlag flag = flag_of(*setting);
      check_least(flag.flag, *number, flag.least);
    }
    data::set(options, *setting, value);
  }
}

std::string in_flags(const data::RunStats& stats) {
  return data::advice_of(stats, {.workers = "--workers", .memory = "--memory_limit", .image_size = "--image_size"});
}

void print_json(const data::BenchReport& r) {
  nlohmann::ordered_json out;
  out["images_per_second"] = r.images_per_second;
  if (!r.hash.empty()) out["hash"] = r.hash;
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
             r.workers == 0   ? "without worker threads"
             : r.workers == 1 ? "1 worker"
                              : fmt::format("{} workers", r.workers));
  fmt::print("{}", r.stats.to_string());
  fmt::print("memory: {:.1f} MB in {} batch slots, largest resident size of the process {:.1f} MB\n",
             static_cast<double>(r.slot_bytes) / 1e6, r.slots, static_cast<double>(r.rss_bytes) / 1e6);
  if (r.bad_samples > 0) fmt::print("bad samples: {}\n", r.bad_samples);
  if (!r.hash.empty()) fmt::print("hash {}\n", r.hash);
  if (const std::string advice = in_flags(r.stats); !advice.empty()) fmt::print("{}\n", advice);
}

int run_bench(const Command& app, const BenchFlags& flags) {
  data::BenchOptions options = flags.options;
  read_setting_flags(flags, options.iterator);
  check_least("warmup", options.warmup, 0);
  if (options.iterator.pull && (options.iterator.workers != 0 || options.iterator.autotune))
    throw Error("--pull runs without workers: leave out --workers and --autotune", ErrorKind::usage);
  options.iterator.bad_samples = finish_bad_samples(app, flags.arguments);
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
      "bench", "time the data pipeline alone, by default that of a training: random resized crop, flip, normalise");
  add_setting_flags(app, *flags);
  app.option("--warmup", flags->options.warmup,
             "number of batches before the timing starts; 0: time the whole run, including its start");
  app.flag("--hash", flags->options.hash, "print a hash of all batches; hashing is part of the measured time");
  app.flag("--json", flags->json, "print one JSON object");
  add_pipeline_flags(app, flags->pipeline);
  add_recipe_flags(app, flags->arguments, {"bad_samples", "bad_sample_budget", "quarantine"}, "Bad samples");
  return {&app, [&app, flags] { return run_bench(app, *flags); }};
}

}  // namespace ridgeline::cli
