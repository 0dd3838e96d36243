#include "ridgeline/train/recipe/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/process_time.h"
#include "ridgeline/core/version.h"
#include "ridgeline/data/runtime/rows/rows.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/optim/schedules.h"
#include "ridgeline/train/callback/advisor.h"
#include "ridgeline/train/callback/data_report.h"
#include "ridgeline/train/callback/step_dump.h"
#include "ridgeline/train/callback/step_times.h"
#include "ridgeline/train/callback/summaries.h"
#include "ridgeline/train/loop/interrupt.h"
#include "ridgeline/train/loop/synthetic.h"
#include "ridgeline/train/recipe/batch_parts.h"
#include "ridgeline/train/recipe/benchmark_summary.h"
#include "ridgeline/train/recipe/chosen_checkpoint.h"
#include "ridgeline/train/recipe/compile_statistics.h"
#include "ridgeline/train/recipe/datasets.h"
#include "ridgeline/train/recipe/evaluator.h"
#include "ridgeline/train/recipe/kept_settings.h"
#include "ridgeline/train/recipe/last_file.h"
#include "ridgeline/train/recipe/recipe_model.h"
#include "ridgeline/train/recipe/restore_weights.h"
#include "ridgeline/train/recipe/resume_check.h"
#include "ridgeline/train/recipe/session_options.h"
#include "ridgeline/train/recipe/several_ranks.h"
#include "ridgeline/train/recipe/shared_settings.h"
#include "ridgeline/train/recipe/single_rank_speed.h"
#include "ridgeline/train/run_files.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

// With synthetic data an epoch is as long as that of the full data set of the recipe.
constexpr std::int64_t kSyntheticRecords = 1281167;

class Trainer {
 public:
  Trainer(const Recipe& recipe, const RunRanks& ranks)
      : recipe_(recipe),
        run_({.directory = recipe.log_dir,
              .save = {.save = recipe.do_checkpoint,
                       .steps = recipe.save_checkpoints_steps,
                       .seconds = recipe.save_checkpoints_secs,
                       .keep = recipe.max_checkpoint_to_save},
              .log_name = log_name_of(recipe),
              .log_to = LogTo::file_and_terminal,
              .session = session_options(recipe),
              .ranks = ranks}),
        log_(run_.log()),
        ranks_(run_.ranks()) {}

  TrainingResult run() {
    check_last_file(recipe_.trace);
    check_last_file(recipe_.export_step);
    open();
    Model& model = run_.model();
    if (recipe_.export_compile_stat == 2 && ranks_.main()) write_compile_statistics(model, recipe_.log_dir, log_);
    const std::int64_t loop =
        recipe_.iterations_per_loop > 0 ? recipe_.iterations_per_loop : std::min<std::int64_t>(steps_per_epoch_, 100);
    RunPlan plan{.loop = {.total_steps = total_steps_,
                          .steps_per_epoch = steps_per_epoch_,
                          .loop = loop,
                          .cut_at_epochs = false},
                 .lines = {.batch_size = step_images(),
                           .records = data_.training_records,
                           .loop = loop,
                           .every_loop = recipe_.iterations_per_loop > 0,
                           .summary = summary_steps(loop),
                           .display = recipe_.display_every},
                 .end_of_time_text = fmt::format("--max_time ({})", duration_text(recipe_.max_time))};
    if (recipe_.mode == Mode::train_and_evaluate) {
      plan.evaluation = {.every = recipe_.epochs_between_evals * steps_per_epoch_,
                         .records = data_.validation_records,
                         .evaluate = [this] { return evaluate_model(); },
                         .patience = recipe_.early_stopping};
    }
    if (recipe_.max_time > 0) plan.end_of_time = end_of_time();

    std::optional<StepDump> dump;  // before the run ends by a loss that is not finite
    if (!recipe_.dump.path.empty()) {
      StepDumpOptions options = step_dump_options(recipe_.dump);
      options.log = [this](const std::string& line) { log_.line(line); };
      plan.first.push_back(&dump.emplace(std::move(options)));
    }
    Advisor advisor({.classes = data_.num_classes,
                     .warmup_steps = recipe_.warmup_epochs * steps_per_epoch_,
                     .final_relu = classifier().final_relu},
                    log_);
    plan.middle.push_back(&advisor);
    std::optional<Summaries> summaries;
    if (ranks_.main()) {
      plan.middle.push_back(&summaries.emplace(SummaryOptions{.histogram_steps = recipe_.histogram_steps,
                                                              .picture_steps = recipe_.picture_steps,
                                                              .graph = recipe_.save_graph,
                                                              .compile = compile_options(recipe_)},
                                               run_.metrics().events()));
    }
    std::optional<DataReport> data_report;
    if (data_feed_) {
      plan.middle.push_back(
          &data_report.emplace(*data_feed_, recipe_.bad_samples, recipe_.data_ranks() > 1, log_, run_.metrics()));
    }
    StepTimes times((fs::path(recipe_.log_dir) / kStepTimesFile).string(), log_);
    if (recipe_.explain) plan.last.push_back(&times);

    TrainingResult result{run_.train(*feed_, plan), data_.has_validation, single_rank_fps_};
    if (single_rank_fps_ > 0 && result.mean_fps > 0) {
      const double each = result.mean_fps / static_cast<double>(result.ranks);
      log_.line(fmt::format("ranks: {:.1f} images/s, {:.1f} a device; one device alone {:.1f}: scaling {:.3f}",
                            result.mean_fps, each, single_rank_fps_, each / single_rank_fps_));
    }
    if (run_.session().trace()) run_.session().trace()->write(recipe_.trace);
    if (recipe_.export_compile_stat == 1 && ranks_.main()) write_compile_statistics(model, recipe_.log_dir, log_);
    if (!recipe_.export_step.empty()) {
      infer::Model step = model.exported_training();
      step.class_names = data_.classes.names;
      infer::write_model(recipe_.export_step, step);
      log_.line(fmt::format("training step after {} steps: {}", model.global_step(), recipe_.export_step));
    }
    return result;
  }

 private:
  // The time of a job counts from the start of its process.
  std::chrono::steady_clock::time_point end_of_time() const {
    const std::chrono::duration<double> left(recipe_.max_time - process_milliseconds() / 1000);
    return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(left);
  }

  // With the averages of parameters, where they are kept.
  std::optional<EvaluationRow> evaluate_model() {
    std::optional<EvaluationRow> row;
    Model& model = run_.model();
    model.with_averages([&] { row = evaluate_once(model, data_, recipe_, run_.session(), log_); });
    return row;
  }

  // The default loop is an epoch's steps, at most 100.
  std::int64_t summary_steps(std::int64_t loop) const {
    if (recipe_.save_summary_steps > 0) return recipe_.save_summary_steps;
    return recipe_.iterations_per_loop > 0 ? 100 : loop;
  }

  // Of all batches of a step, on all ranks.
  std::int64_t step_images() const {
    return recipe_.batch_size * recipe_.optimization.accumulate_steps * recipe_.data_ranks();
  }

  const std::optional<AccelerateMode>& accelerate() const { return recipe_.experimental.accelerate; }

  void open() {
    open_data();
    steps_per_epoch_ = std::max<std::int64_t>(1, data_.training_records / step_images());
    total_steps_ = recipe_.max_epochs * steps_per_epoch_;
    if (recipe_.benchmark) total_steps_ = std::min(total_steps_, kBenchmarkSteps);
    total_steps_ = recipe_.max_train_steps.value_or(total_steps_);
    log_.line(fmt::format("training steps: {}", total_steps_));
    if (recipe_.warmup_epochs >= recipe_.max_epochs && optim::schedule_named(recipe_.optimization.schedule).warms_up) {
      log_.line(fmt::format(
          "warning: --warmup_epochs={} with --max_epochs={}: the rate only rises, and the run ends below --lr",
          recipe_.warmup_epochs, recipe_.max_epochs));
    }
    options_ = step_options(recipe_, data_.num_classes);
    ranks_.agree(shared_settings(recipe_, info(), total_steps_));
    if (recipe_.benchmark && ranks_.size() > 1) {
      if (ranks_.main()) single_rank_fps_ = single_rank_speed(recipe_, data_);
      ranks_.largest(0);  // the others wait meanwhile
    }
    run_.begin(model_of(run_.session(), recipe_, data_.num_classes), start());
    if (recipe_.serves()) {
      feed_ = std::make_unique<FunctionFeed>([](Program&) { return true; });  // its step has no batch
      return;
    }
    if (recipe_.synthetic) {
      options_.batch_size = recipe_.batch_size;  // of all micro-batches
      feed_ = std::make_unique<SyntheticBatch>(options_, data_.num_classes,
                                               recipe_.seed + static_cast<std::uint64_t>(recipe_.data_rank()),
                                               &run_.session().device());
      return;
    }
    auto feed = std::make_unique<DatasetFeed>(*data_.training,
                                              data::IteratorOptions{.workers = recipe_.num_workers,
                                                                    .memory_limit = recipe_.batch_memory,
                                                                    .epochs = data::kForever,
                                                                    .start = run_.data_start(),
                                                                    .raw_images = recipe_.enable_data_pre_proc,
                                                                    .bad_samples = recipe_.bad_samples,
                                                                    .trace = run_.session().trace(),
                                                                    .log = &run_.session().log()},
                                              run_.model().network().columns, &run_.session().device());
    data_feed_ = feed.get();
    feed_ = std::move(feed);
  }

  RunStart start() {
    RunStart start{.training = training_options(recipe_, schedule_of(recipe_, steps_per_epoch_)),
                   .describe = [this](CheckpointInfo& saved) { describe(saved); },
                   .compare = [this](const LoadedCheckpoint& newest) { return differences(newest); },
                   .fresh = [this](Model& model) { begin_with_weights(model); },
                   .ranks_text = ranks_text(recipe_)};
    if (accelerate()) {
      start.stepped = SteppedPrecision{.mode = *accelerate(),
                                       .reduced = policy_of(reduced_precision(*accelerate(), precision_of(recipe_))),
                                       .original = policy_of(original_precision(accelerate(), precision_of(recipe_))),
                                       .final_loss = recipe_.final_loss};
    }
    return start;
  }

  void open_data() {
    const bool evaluates = recipe_.mode == Mode::train_and_evaluate;
    if (recipe_.synthetic) {
      data_.training_records = kSyntheticRecords;
      data_.num_classes = recipe_.num_classes == 0 ? 1000 : recipe_.num_classes;
    } else {
      data_ = train::open_data(recipe_, {.training = true, .validation = evaluates});
    }
    const Device &device = run_.session().device(), &cpu = run_.session().cpu();
    const std::string beside = &device == &cpu ? "" : fmt::format("{} {}, host ", device.name(), device.architecture());
    log_.line(fmt::format("ridgeline {} ({}{}, {} threads)", kVersion, beside, cpu.architecture(),
                          run_.session().compute_threads()));
    log_.line(fmt::format("total num_training_sampels: {}", data_.training_records));
    if (evaluates) log_.line(fmt::format("total num_evaluating_sampels: {}", data_.validation_records));
    for (const std::string& note : data_.notes) log_.line(note);
    if (!evaluates && recipe_.epochs_between_evals != Recipe().epochs_between_evals)
      log_.line("warning: --epochs_between_evals has no effect with --mode=train, which does not evaluate");
    for (const std::string& line :
         accelerate() ? train::describe(*accelerate(), precision_of(recipe_)) : train::describe(precision_of(recipe_)))
      log_.line(line);
  }

  // Between this run and the one of a checkpoint, if it may resume.
  std::vector<std::string> differences(const LoadedCheckpoint& newest) {
    const std::uint64_t graph_hash = data_.training ? data_.training->hash() : 0;
    CheckpointInfo now = info();
    now.plan = run_.model().kernel_plan();
    std::vector<std::string> changed = check_resume(setting_rows(), newest.file, newest.info, now, graph_hash);
    if (!recipe_.restore_path.empty())
      changed.emplace_back("--weights has no effect: the run goes on with the weights of its checkpoint");
    return changed;
  }

  void begin_with_weights(Model& model) {
    if (!recipe_.restore_path.empty())
      restore_weights(model, recipe_, [this](const std::string& text) { log_.line(text); });
  }

  // All of a checkpoint's information except the step, the state of the data and the kernels.
  CheckpointInfo info() const {
    CheckpointInfo info;
    describe(info);
    return info;
  }
  void describe(CheckpointInfo& info) const {
    info.model = recipe_.model;
    info.classifier = classifier();
    info.steps_per_epoch = steps_per_epoch_;
    info.seed = recipe_.seed;
    info.settings = settings_of(recipe_, recipe_.synthetic ? "synthetic" : data_.layout, data_.training_records);
  }
  ClassifierInfo classifier() const {
    const nn::ModelOptions options = nn::complete_options(nn::model_named(recipe_.model), options_.model_options);
    return {.init = options.init,
            .final_relu = options.final_relu.value_or(false),
            .num_classes = data_.num_classes,
            .image_size = options_.image_size,
            .label_base = data_.label_base,
            .class_names = data_.classes.names,
            .class_ids = data_.classes.ids};
  }

  const Recipe& recipe_;
  Run run_;
  TrainingLog& log_;
  const Ranks& ranks_;
  RunData data_;
  std::int64_t steps_per_epoch_ = 1;
  std::int64_t total_steps_ = 0;
  nn::StepOptions options_;
  std::unique_ptr<Feed> feed_;
  DatasetFeed* data_feed_ = nullptr;  // feed_, where it is one
  double single_rank_fps_ = 0;        // of a benchmark
};

}  // namespace

namespace {

TrainingResult train_here(const Recipe& recipe, const RunRanks& ranks) {
  const InterruptGuard guard;  // of the opening, too
  try {
    return Trainer(recipe, ranks).run();
  } catch (const data::SampleError& error) {
    throw with_advice(error, recipe);
  }
}

TrainingResult check_and_train(const Recipe& recipe, const RunRanks& ranks) {
  check(recipe);
  if (recipe.synthetic && recipe.mode == Mode::train_and_evaluate)
    throw Error("--synthetic has no validation part: use --mode=train", ErrorKind::usage);
  if (!recipe.synthetic) check_data_dir(recipe, true);  // before anything is written
  check_ranks(recipe);
  Recipe complete = with_batch_parts(recipe);
  // Only the main rank reads weights.
  if (recipe.rank == 0) {
    complete = with_chosen_checkpoint(std::move(complete),
                                      [](const std::string& text) { TrainingLog("").line("warning: " + text); });
  }
  return train_here(complete, ranks);
}

}  // namespace

TrainingResult train(const Recipe& given, const RunRanks& ranks) {
  const bool alone = ranks.size() == 1 || (ranks.servers == 0 && given.parallel.mode == "stand_alone");
  if (alone) return check_and_train(given, {});
  try {
    return check_and_train(for_rank(given, ranks), ranks);
  } catch (const std::exception& error) {
    ranks.abort(error.what());
    throw;
  }
}

}  // namespace ridgeline::train
