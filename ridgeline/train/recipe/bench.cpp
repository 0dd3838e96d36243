#include "ridgeline/train/recipe/bench.h"

#include "ridgeline/compile/measure.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/process_time.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/graph/pass/passes.h"
#include "ridgeline/train/recipe/batch_parts.h"
#include "ridgeline/train/recipe/recipe_model.h"
#include "ridgeline/train/recipe/session_options.h"
#include "ridgeline/train/synthetic.h"

namespace ridgeline::train {
namespace {

// All but the machine's limits and what follows from them. The step's memory is given back at the end.
StepBench run_steps(const Recipe& recipe, int steps, bool each_fusion) {
  Session session(session_options(recipe));
  const std::int64_t classes = recipe.num_classes == 0 ? nn::model_named(recipe.model).classes : recipe.num_classes;
  const std::unique_ptr<Model> model = model_of(session, recipe, classes);
  model->prepare_training(training_options(recipe, optim::Constant{.base = recipe.lr}));
  const SyntheticBatch batch(step_options(recipe, classes), classes, recipe.seed);
  Program& program = model->training();
  batch.bind(program);
  StepBench result;
  result.ready = process_milliseconds();
  program.run();
  result.first_step = process_milliseconds();
  result.times = time_runs(program, steps);
  program.set_profiling(true);
  program.run();
  result.launches = program.launches();
  result.timeline = timeline_of(program);
  double flops = 0;
  for (const LaunchReport& launch : result.launches) flops += launch.cost.flops;
  result.images_per_second = 1e3 * static_cast<double>(recipe.batch_size) / result.times.milliseconds;
  result.gflops = flops / result.times.milliseconds / 1e6;
  result.threads = session.compute_threads();
  result.isa = session.device().architecture();
  result.counts = program.counts();
  result.unfused = model->count_without(fusion_passes());
  if (each_fusion) {
    for (const std::string& pass : fusion_passes()) result.without.emplace_back(pass, model->count_without({pass}));
  }
  result.memory = program.memory();
  result.warnings = program.warnings();
  return result;
}

}  // namespace

StepBench bench_step(const Recipe& recipe, int steps, bool each_fusion) {
  if (steps < 1) throw Error("--steps must be 1 or more", ErrorKind::usage);
  StepBench result = run_steps(with_batch_parts(recipe), steps, each_fusion);
  // Behind the step: measuring the memory takes 256 MB of it, which must not count as the step's.
  const ComputeScope team(result.threads);
  result.limits = device_named(recipe.device).make()->measured_rates().best;
  result.peak_gflops = result.limits.f32_flops / 1e9;
  result.milliseconds_at_limit = milliseconds_at_limit(result.launches, result.limits);
  result.roofline_share = result.gflops / result.peak_gflops;
  return result;
}

}  // namespace ridgeline::train
