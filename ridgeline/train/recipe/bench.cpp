#include "ridgeline/train/recipe/bench.h"

#include "ridgeline/compile/run/measure.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/process_time.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/graph/pass/passes.h"
#include "ridgeline/train/loop/synthetic.h"
#include "ridgeline/train/recipe/batch_parts.h"
#include "ridgeline/train/recipe/recipe_model.h"
#include "ridgeline/train/recipe/session_options.h"

namespace ridgeline::train {
namespace {

// A recipe's training step, ready to run on random data.
class ReadyStep {
 public:
  explicit ReadyStep(const Recipe& recipe)
      : classes_(recipe.num_classes == 0 ? nn::model_named(recipe.model).classes : recipe.num_classes),
        session(session_options(recipe)),
        model(model_of(session, recipe, classes_)),
        program(training(recipe)),
        batch_(step_options(recipe, classes_), classes_, recipe.seed, &session.device()) {
    batch_.bind(program);
  }

 private:
  Program& training(const Recipe& recipe) {
    model->prepare_training(training_options(recipe, optim::Constant{.base = recipe.lr}));
    return model->training();
  }
  std::int64_t classes_;

 public:
  Session session;
  std::unique_ptr<Model> model;
  Program& program;

 private:
  SyntheticBatch batch_;
};

// All except the machine's limits and what is computed from them. The step's memory is freed at the end.
StepBench run_steps(const Recipe& recipe, int steps, bool each_fusion) {
  ReadyStep step(recipe);
  Session& session = step.session;
  const std::unique_ptr<Model>& model = step.model;
  Program& program = step.program;
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
  // After the step: measuring the memory takes 256 MB of it, which must not count as the step's.
  const ComputeScope team(result.threads);
  result.limits = device_named(recipe.device).make()->measured_rates().best;
  result.peak_gflops = result.limits.f32_flops / 1e9;
  result.milliseconds_at_limit = milliseconds_at_limit(result.launches, result.limits);
  result.roofline_share = result.gflops / result.peak_gflops;
  return result;
}

RecordedStep record_step(Recipe recipe, int threads) {
  if (threads < 1) throw Error("--balance: a team has a thread or more", ErrorKind::usage);
  if (recipe.inter_op_parallelism_threads > 1) {
    throw Error("--balance records launches one after another: leave out --inter_op_parallelism_threads",
                ErrorKind::usage);
  }
  if (recipe.device != "cpu") {
    throw Error("--balance records the CPU's team, and --device is " + recipe.device, ErrorKind::usage);
  }
  recipe.intra_op_parallelism_threads = threads;
  ReadyStep step(with_batch_parts(recipe));
  if (step.session.compute_threads() != threads) {
    throw Error("--balance=" + std::to_string(threads) + ": OpenMP gives a team of " +
                std::to_string(step.session.compute_threads()) + " (OMP_THREAD_LIMIT?)");
  }
  constexpr int kRuns = 5;  // of which each part's shortest time counts
  const ComputeScope team(threads);
  TeamRecording recording;
  step.program.run();
  step.program.set_profiling(true);
  RecordedStep result{.isa = step.session.device().architecture()};
  for (int run = 0; run < kRuns; ++run) {
    step.program.run();
    std::vector<LaunchReport> launches = step.program.launches();
    for (std::size_t i = 0; i < result.launches.size(); ++i) take_least(launches[i].work, result.launches[i].work);
    result.launches = std::move(launches);
  }
  for (LaunchReport& launch : result.launches) level(launch.work);
  result.balance = balance_of(result.launches, threads);
  return result;
}

}  // namespace ridgeline::train
