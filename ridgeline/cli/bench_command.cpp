#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/flags.h"
#include "ridgeline/cli/recipe_flags.h"
#include "ridgeline/core/error.h"
#include "ridgeline/graph/pass/precision_policy.h"
#include "ridgeline/train/recipe/bench.h"

namespace ridgeline::cli {
namespace {

void print_layers(const train::StepBench& bench) {
  fmt::print("{:<44}{:>9}{:>10}{:>8}  {}\n", "launch", "ms", "GFLOP/s", "GB/s", "kernel");
  for (const LaunchReport& l : bench.launches) {
    if (l.milliseconds < 0.05) continue;
    fmt::print("{:<44}{:>9.2f}{:>10.0f}{:>8.1f}  {}\n", l.node, l.milliseconds, l.cost.flops / l.milliseconds / 1e6,
               l.cost.bytes / l.milliseconds / 1e6, l.kernel);
  }
}

// Short names of the modes that the benchmark is mostly run in.
std::string mode_behind(const std::string& name) {
  constexpr std::pair<std::string_view, std::string_view> kShort[] = {{"f32", "must_keep_origin_dtype"},
                                                                      {"fp32", "must_keep_origin_dtype"},
                                                                      {"bf16", "allow_mix_precision_bf16"},
                                                                      {"f16", "allow_mix_precision_fp16"},
                                                                      {"fp16", "allow_mix_precision_fp16"}};
  for (const auto& [text, mode] : kShort) {
    if (text == name) return std::string(mode);
  }
  std::string allowed = "f32, bf16, f16";
  for (const PrecisionMode& mode : precision_modes()) {
    if (mode.name.empty()) continue;  // of precision_mode_v2 alone
    if (mode.name == name) return name;
    allowed += ", " + std::string(mode.name);
  }
  throw Error("unknown --precision=" + name + " (allowed: " + allowed + ")", ErrorKind::usage);
}

}  // namespace

int bench_command(const Words& words) {
  Command app("time the compiled step against the machine's limit", "bench");
  Command& step = app.subcommand("step", "one training step on random data");
  train::RecipeArguments arguments;
  train::Recipe& recipe = arguments.recipe;
  recipe.model = "alexnet_torchvision";
  std::string precision = "f32";
  int steps = 7;
  bool json = false;
  bool layers = false;
  add_recipe_flags(
      step, arguments,
      {"model", "batch_size", "image_size", "num_classes", "fp16_compute", "intra_op_parallelism_threads",
       "inter_op_parallelism_threads", "log", "device", "allow_soft_placement", "log_device_placement",
       "reproducibility", "op_select_implmode", "fp32_compute", "tune", "fusion", "disable_pass", "memory_limit"});
  step.option("--precision", precision, "f32, bf16 or f16 (mixed, by the op lists), or a name of precision_mode");
  step.option("--steps", steps, "timed steps; the median is printed");
  step.flag("--json", json, "print one JSON object");
  step.flag("--layers", layers, "print every launch of 0.05 ms or more");
  if (!app.parse(words)) return 0;
  recipe.precision.mode = mode_behind(precision);
  train::check(recipe);
  const train::StepBench bench = train::bench_step(recipe, steps);
  if (json) {
    nlohmann::json object{{"model", recipe.model},
                          {"batch_size", recipe.batch_size},
                          {"ms_per_step", bench.times.milliseconds},
                          {"ms_fastest", bench.times.fastest},
                          {"ms_slowest", bench.times.slowest},
                          {"steps", bench.times.runs},
                          {"ms_until_ready", bench.ready},
                          {"ms_until_first_step", bench.first_step},
                          {"images_per_second", bench.images_per_second},
                          {"gflops", bench.gflops},
                          {"peak_gflops", bench.peak_gflops},
                          {"roofline_share", bench.roofline_share},
                          {"isa", bench.isa},
                          {"device", recipe.device},
                          {"launches", bench.counts.launches},
                          {"bytes", bench.counts.bytes()},
                          {"unfused_launches", bench.unfused.launches},
                          {"unfused_bytes", bench.unfused.bytes()},
                          {"memory_bytes", bench.memory.total()},
                          {"warnings", bench.warnings},
                          {"precision", precision}};
    for (const comm::StepPart& part : bench.timeline.parts)
      object["timeline"].push_back({{"name", part.name},
                                    {"ms", part.seconds * 1e3},
                                    {"gradient_bytes", part.gradient_bytes},
                                    {"update", part.update}});
    fmt::print("{}\n", object.dump());
    return 0;
  }
  if (layers) print_layers(bench);
  fmt::print(
      "step {:.1f} ms ({:.1f} to {:.1f}, {} steps), {:.1f} images/s, {:.0f} GFLOP/s, {:.2f} of the measured {:.0f} "
      "GFLOP/s ({})\n",
      bench.times.milliseconds, bench.times.fastest, bench.times.slowest, bench.times.runs, bench.images_per_second,
      bench.gflops, bench.roofline_share, bench.peak_gflops, bench.isa);
  fmt::print("{} launches read and write {:.1f} MB ({} and {:.1f} MB without fusion)\n", bench.counts.launches,
             static_cast<double>(bench.counts.bytes()) / 1e6, bench.unfused.launches,
             static_cast<double>(bench.unfused.bytes()) / 1e6);
  fmt::print("start: ready after {:.0f} ms, first step finished after {:.0f} ms\n", bench.ready, bench.first_step);
  fmt::print("memory: {}\n", bench.memory.to_text());
  for (const std::string& line : bench.warnings) fmt::print("warning: {}\n", line);
  return 0;
}

}  // namespace ridgeline::cli
