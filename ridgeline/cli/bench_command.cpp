#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <numeric>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/flags.h"
#include "ridgeline/cli/recipe_flags.h"
#include "ridgeline/cli/step_tables.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"
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

// Every launch of the profiled step, in the order of the plan.
nlohmann::json launches_json(const train::StepBench& bench) {
  const std::vector<double> gaps = gaps_before(bench.launches);
  nlohmann::json all = nlohmann::json::array();
  for (std::size_t i = 0; i < bench.launches.size(); ++i) {
    const LaunchReport& launch = bench.launches[i];
    if (!launch.ran) continue;
    all.push_back({{"node", printable(launch.node)},
                   {"op", launch.op},
                   {"kernel", launch.kernel},
                   {"converts", launch.converts},
                   {"ms", launch.milliseconds},
                   {"ms_before", gaps[i]},
                   {"ms_at_limit", milliseconds_at_limit(launch, bench.limits)},
                   {"gflop", launch.cost.flops / 1e9},
                   {"gflop_done", launch.flops_done / 1e9},
                   {"megabytes", launch.cost.bytes / 1e6}});
  }
  return all;
}

// For each region between two barriers: number of items, share of the launch, and how evenly the items divide.
nlohmann::json regions_json(const LaunchReport& launch, const LaunchBalance& balance, int threads) {
  nlohmann::json regions = nlohmann::json::array();
  for (const TeamRegion& region : launch.work.regions) {
    const double seconds = std::accumulate(region.seconds.begin(), region.seconds.end(), 0.0);
    regions.push_back({{"items", region.seconds.size()},
                       {"share", balance.seconds > 0 ? seconds / balance.seconds : 0},
                       {"efficiency_bound", seconds > 0 ? seconds / (team_seconds(region) * threads) : 1}});
  }
  return regions;
}

nlohmann::json balance_json(const train::RecordedStep& step) {
  const StepBalance& balance = step.balance;
  nlohmann::json launches = nlohmann::json::array();
  for (std::size_t i = 0; i < step.launches.size(); ++i) {
    const LaunchBalance& launch = balance.launches[i];
    if (!step.launches[i].ran) continue;
    launches.push_back({{"node", printable(step.launches[i].node)},
                        {"op", step.launches[i].op},
                        {"kernel", step.launches[i].kernel},
                        {"share", launch.seconds / balance.seconds},
                        {"items", launch.items},
                        {"largest_share", launch.largest_share},
                        {"serial_share", launch.seconds > 0 ? launch.serial / launch.seconds : 0},
                        {"barriers", launch.barriers},
                        {"regions", regions_json(step.launches[i], launch, balance.threads)},
                        {"library", launch.library}});
    if (!launch.library) launches.back()["efficiency_bound"] = launch.bound(balance.threads);
  }
  return {{"threads", balance.threads},
          {"efficiency_bound", balance.bound()},
          {"library_share", balance.library_seconds / balance.seconds},
          {"launches", std::move(launches)}};
}

// "4,16,64"
std::vector<int> teams_of(const std::string& text) {
  std::vector<int> teams;
  const char *at = text.data(), *const end = at + text.size();
  while (true) {
    int threads = 0;
    const auto [behind, error] = std::from_chars(at, end, threads);
    if (error != std::errc() || threads < 1 || (behind != end && *behind != ',')) {
      throw Error("--balance=" + text + " (allowed: numbers of threads, such as 16 or 4,16,64)", ErrorKind::usage);
    }
    teams.push_back(threads);
    if (behind == end) return teams;
    at = behind + 1;
  }
}

// `efficiency_bound` is that of the first team.
void print_balance(const train::Recipe& recipe, const std::string& precision, const std::vector<int>& teams,
                   bool json) {
  nlohmann::json object{{"model", recipe.model}, {"batch_size", recipe.batch_size}, {"precision", precision}};
  for (const int threads : teams) {
    const train::RecordedStep step = train::record_step(recipe, threads);
    if (!json) {
      fmt::print("{}{}", threads == teams.front() ? "" : "\n", balance_table(step.launches, step.balance));
      continue;
    }
    if (threads == teams.front()) object["efficiency_bound"] = step.balance.bound();
    object["isa"] = step.isa;
    object["balance"].push_back(balance_json(step));
  }
  if (json) fmt::print("{}\n", object.dump());
}

// The precision mode of a short name, for the modes that benchmarks mostly use.
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
  Command app("time a compiled training step and compare it with the machine's limits", "bench");
  Command& step = app.subcommand("step", "time one training step on random data");
  train::RecipeArguments arguments;
  train::Recipe& recipe = arguments.recipe;
  recipe.model = "alexnet_torchvision";
  std::string precision = "f32";
  int steps = 7;
  bool json = false;
  bool layers = false;
  bool parts = false;
  bool fusions = false;
  std::string balance;
  add_recipe_flags(
      step, arguments,
      {"model", "batch_size", "image_size", "num_classes", "fp16_compute", "intra_op_parallelism_threads",
       "inter_op_parallelism_threads", "log", "device", "allow_soft_placement", "log_device_placement",
       "reproducibility", "op_select_implmode", "fp32_compute", "tune", "fusion", "disable_pass", "memory_limit"});
  step.option("--precision", precision,
              "f32, bf16 or f16 (mixed precision by the op lists), or a value of --precision_mode");
  step.option("--steps", steps, "number of timed steps; the median is printed");
  step.flag("--json", json, "print one JSON object");
  step.flag("--layers", layers, "print launches of 0.05 ms or more; with --json all launches");
  step.flag("--parts", parts,
            "print the time of each kind of op, its limit on this machine, and the largest differences");
  step.flag("--fusions", fusions, "for each fusion pass, print the launches and bytes of the step without it");
  step.option("--balance", balance,
              "instead of timing, print how evenly the step divides over this many threads, also more than the machine "
              "has: 16, or 4,16,64; efficiency_bound of --json is for the first number");
  if (!app.parse(words)) return 0;
  recipe.precision.mode = mode_behind(precision);
  train::check(recipe);
  if (!balance.empty()) {
    print_balance(recipe, precision, teams_of(balance), json);
    return 0;
  }
  const train::StepBench bench = train::bench_step(recipe, steps, fusions);
  if (json) {
    nlohmann::json object{{"model", recipe.model},
                          {"batch_size", recipe.batch_size},
                          {"ms_per_step", bench.times.milliseconds},
                          {"ms_fastest", bench.times.fastest},
                          {"ms_slowest", bench.times.slowest},
                          {"steps", bench.times.runs},
                          {"threads", bench.threads},
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
    if (layers) object["layers"] = launches_json(bench);
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
