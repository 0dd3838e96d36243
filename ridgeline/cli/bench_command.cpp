#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/flags.h"
#include "ridgeline/cli/recipe_flags.h"
#include "ridgeline/core/error.h"
#include "ridgeline/train/bench.h"

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

}  // namespace

int bench_command(const Words& words) {
  Command app("time the compiled step against the machine's limit", "bench");
  Command& step = app.subcommand("step", "one training step on random data");
  train::Recipe recipe;
  recipe.model = "alexnet_torchvision";
  std::string precision = "fp32";
  int steps = 7;
  bool json = false;
  bool layers = false;
  step.option("--model", recipe.model, "the model");
  step.option("--batch_size", recipe.batch_size, "images a step");
  step.option("--image_size", recipe.image_size, "0: the model's own");
  step.option("--num_classes", recipe.num_classes, "0: the published model's");
  step.option("--precision", precision, "fp32");
  step.option("--steps", steps, "timed steps; the median is printed");
  step.option("--intra_op_parallelism_threads", recipe.intra_op_parallelism_threads,
              "compute threads; 0: one per core");
  step.option("--log", recipe.log, "diagnostics by commas: dispatch, placement, memory, passes");
  add_device_flags(step, recipe, "Options");
  step.boolean("--fusion", recipe.fusion, "merge chains of elementwise ops");
  step.option("--disable_pass", recipe.disabled_passes, "leave this compiler pass out; may be given several times");
  step.flag("--json", json, "print one JSON object");
  step.flag("--layers", layers, "print every launch of 0.05 ms or more");
  if (!app.parse(words)) return 0;
  if (precision != "fp32") {
    throw Error("bench step: --precision=" + precision + " is not supported by this version (allowed: fp32)",
                ErrorKind::usage);
  }
  train::check(recipe);
  const train::StepBench bench = train::bench_step(recipe, steps);
  const auto launches = std::count_if(bench.launches.begin(), bench.launches.end(),
                                      [](const LaunchReport& l) { return l.milliseconds > 0; });
  if (json) {
    const nlohmann::json object{{"model", recipe.model},
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
                                {"launches", launches},
                                {"warnings", bench.warnings},
                                {"precision", precision}};
    fmt::print("{}\n", object.dump());
    return 0;
  }
  if (layers) print_layers(bench);
  fmt::print(
      "step {:.1f} ms ({:.1f} to {:.1f}, {} steps), {:.1f} images/s, {:.0f} GFLOP/s, {:.2f} of the measured {:.0f} "
      "GFLOP/s ({})\n",
      bench.times.milliseconds, bench.times.fastest, bench.times.slowest, bench.times.runs, bench.images_per_second,
      bench.gflops, bench.roofline_share, bench.peak_gflops, bench.isa);
  fmt::print("start: ready after {:.0f} ms, first step finished after {:.0f} ms\n", bench.ready, bench.first_step);
  fmt::print("memory: {}\n", bench.memory.to_text());
  for (const std::string& line : bench.warnings) fmt::print("warning: {}\n", line);
  return 0;
}

}  // namespace ridgeline::cli
