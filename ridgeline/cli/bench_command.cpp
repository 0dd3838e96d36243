#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/flags.h"
#include "ridgeline/cli/recipe_flags.h"
#include "ridgeline/cli/step_tables.h"
#include "ridgeline/core/error.h"
#include "ridgeline/graph/pass/precision_policy.h"
#include "ridgeline/train/recipe/bench.h"

namespace ridgeline::cli {
namespace {

void print_fusions(const train::StepBench& bench) {
  for (const auto& [pass, counts] : bench.without) {
    fmt::print("  without {:<20}{:>6} launches{:>12.1f} MB\n", pass, counts.launches,
               static_cast<double>(counts.bytes()) / 1e6);
  }
}

nlohmann::json fusions_json(const train::StepBench& bench) {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [pass, counts] : bench.without)
    all[pass] = {{"launches", counts.launches}, {"bytes", counts.bytes()}};
  return all;
}

nlohmann::json parts_json(const train::StepBench& bench) {
  nlohmann::json parts = nlohmann::json::array();
  for (const StepPart& part : parts_of(bench.launches, bench.limits)) {
    parts.push_back({{"op", part.op},
                     {"launches", part.launches},
                     {"ms", part.milliseconds},
                     {"ms_at_limit", part.at_limit},
                     {"gflop", part.gflop},
                     {"gflop_done", part.gflop_done},
                     {"megabytes", part.megabytes},
                     {"farthest", part.longest}});
  }
  return parts;
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
  bool parts = false;
  bool fusions = false;
  add_recipe_flags(
      step, arguments,
      {"model", "batch_size", "image_size", "num_classes", "fp16_compute", "intra_op_parallelism_threads",
       "inter_op_parallelism_threads", "log", "device", "allow_soft_placement", "log_device_placement",
       "reproducibility", "op_select_implmode", "fp32_compute", "tune", "fusion", "disable_pass", "memory_limit"});
  step.option("--precision", precision, "f32, bf16 or f16 (mixed, by the op lists), or a name of precision_mode");
  step.option("--steps", steps, "timed steps; the median is printed");
  step.flag("--json", json, "print one JSON object");
  step.flag("--layers", layers, "print every launch of 0.05 ms or more");
  step.flag("--parts", parts, "print what each kind of op takes beside the machine's limit, and the largest gaps");
  step.flag("--fusions", fusions, "print the launches and bytes of the step without each pass that merges ops");
  if (!app.parse(words)) return 0;
  recipe.precision.mode = mode_behind(precision);
  train::check(recipe);
  const train::StepBench bench = train::bench_step(recipe, steps, fusions);
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
                          {"peak_bf16_gflops", bench.limits.bf16_flops / 1e9},
                          {"peak_gigabytes_per_second", bench.limits.memory_bytes / 1e9},
                          {"ms_at_limit", bench.milliseconds_at_limit},
                          {"parts", parts_json(bench)},
                          {"isa", bench.isa},
                          {"device", recipe.device},
                          {"launches", bench.counts.launches},
                          {"bytes", bench.counts.bytes()},
                          {"unfused_launches", bench.unfused.launches},
                          {"unfused_bytes", bench.unfused.bytes()},
                          {"without", fusions_json(bench)},
                          {"memory_bytes", bench.memory.total()},
                          {"ops_again", bench.memory.again},
                          {"spared_bytes", bench.memory.spared},
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
  if (layers) fmt::print("{}", launch_table(bench.launches, bench.limits, 0.05));
  if (parts) fmt::print("{}", part_table(bench.launches, bench.limits));
  fmt::print(
      "step {:.1f} ms ({:.1f} to {:.1f}, {} steps), {:.1f} images/s, {:.0f} GFLOP/s, {:.2f} of the measured {:.0f} "
      "GFLOP/s ({})\n",
      bench.times.milliseconds, bench.times.fastest, bench.times.slowest, bench.times.runs, bench.images_per_second,
      bench.gflops, bench.roofline_share, bench.peak_gflops, bench.isa);
  fmt::print("each launch at its limit: {:.1f} ms, {:.2f} of the time\n", bench.milliseconds_at_limit,
             bench.milliseconds_at_limit / bench.times.milliseconds);
  fmt::print("{} launches read and write {:.1f} MB ({} and {:.1f} MB without fusion)\n", bench.counts.launches,
             static_cast<double>(bench.counts.bytes()) / 1e6, bench.unfused.launches,
             static_cast<double>(bench.unfused.bytes()) / 1e6);
  if (fusions) print_fusions(bench);
  fmt::print("start: ready after {:.0f} ms, first step finished after {:.0f} ms\n", bench.ready, bench.first_step);
  fmt::print("memory: {}\n", bench.memory.to_text());
  for (const std::string& line : bench.warnings) fmt::print("warning: {}\n", line);
  return 0;
}

}  // namespace ridgeline::cli
