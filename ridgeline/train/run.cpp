#include "ridgeline/train/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/train/callback/data_report.h"
#include "ridgeline/train/callback/early_stopping.h"
#include "ridgeline/train/callback/epoch_log.h"
#include "ridgeline/train/callback/keep_best.h"
#include "ridgeline/train/callback/periodic_evaluation.h"
#include "ridgeline/train/callback/ranks_report.h"
#include "ridgeline/train/callback/time_limit.h"
#include "ridgeline/train/checkpoint/same_run.h"
#include "ridgeline/train/loop/interrupt.h"
#include "ridgeline/train/run_files.h"

namespace ridgeline::train {
namespace {

// The phase of stepped precision, in checkpoints.
constexpr const char* kReducedPhase = "reduced";
constexpr const char* kOriginalPhase = "original";

std::string in_directory(const RunSetup& setup, const std::string& name) {
  return setup.directory.empty() || name.empty() ? "" : (std::filesystem::path(setup.directory) / name).string();
}

RunSetup checked(RunSetup setup) {
  if (!is_file_of_runs(setup.log_name)) return setup;
  throw Error("[run] the log cannot be called " + setup.log_name + ", as another file of the run is", ErrorKind::usage);
}

// The savers in the list: they are asked to save, and to keep the best checkpoint, like the run's own saver.
std::vector<SavesCheckpoints*> savers_in(std::span<Callback* const> callbacks) {
  std::vector<SavesCheckpoints*> savers;
  for (Callback* callback : callbacks) {
    if (auto* saver = dynamic_cast<SavesCheckpoints*>(callback)) savers.push_back(saver);
  }
  return savers;
}

EarlyStoppingOptions early_stopping(const EvaluationPlan& plan, const PeriodicEvaluation& evaluation,
                                    TrainingLog& log) {
  return {.patience = plan.patience,
          .greater_is_better = true,
          .what = best_measure_name(plan.classifies),
          .measure = [&evaluation](const RunContext& context) -> std::optional<double> {
            const auto& row = evaluation.last();
            if (!row || row->step != context.step()) return std::nullopt;
            return best_measure(*row);
          },
          .log = [&log](const std::string& line) { log.line(line); }};
}

}  // namespace

Run::Run(RunSetup setup)
    : setup_(checked(std::move(setup))),
      lock_(setup_.directory.empty() || setup_.ranks.rank() != 0 ? nullptr
                                                                 : std::make_unique<DirectoryLock>(setup_.directory)),
      session_(for_ranks(setup_.session, setup_.ranks)),
      ranks_(setup_.ranks.all),
      log_(ranks_.main() ? path_of(setup_.log_name) : "", ranks_.main() ? setup_.log_to : LogTo::nowhere) {}

Run::~Run() = default;

std::string Run::path_of(const std::string& name) const { return in_directory(setup_, name); }

void Run::begin(std::unique_ptr<Model> model, RunStart start) {
  model_ = std::move(model);
  start_ = std::move(start);
  std::optional<LoadedCheckpoint> newest;
  const std::optional<CheckpointInfo> saved = find(newest);
  prepare(saved ? &*saved : nullptr);
  if (newest) {
    resume(*newest);
  } else if (ranks_.main() && start_.fresh) {
    start_.fresh(*model_);
  }
  newest.reset();  // its tensors are in the store
  share();
  if (!saved) return;
  if (!saved->data_state.empty()) data_start_ = data::IteratorState::from_json(saved->data_state);
  if (data_start_) model_->stands_at(*data_start_);
  for (const std::string& state : saved->other_data) model_->stands_at(data::IteratorState::from_json(state));
}

// The main rank's result is sent to all.
std::optional<CheckpointInfo> Run::find(std::optional<LoadedCheckpoint>& newest) {
  if (ranks_.main() && !setup_.directory.empty())
    newest = load_newest(setup_.directory, [&](const std::string& text) { log_.line("warning: " + text); });
  std::string text = newest ? newest->info.to_json() : "";
  ranks_.tell(text);
  if (text.empty()) return std::nullopt;
  return CheckpointInfo::from_json(text, setup_.directory);
}

// The step, in the precision of the phase that the run is in.
void Run::prepare(const CheckpointInfo* saved) {
  const bool over = saved != nullptr && saved->precision_phase == kOriginalPhase;
  if (!start_.stepped || over) {
    phase_ = PrecisionPhase::original;
    model_->prepare_training(start_.training);
  } else {
    model_->prepare_training(start_.training, &start_.stepped->reduced);
  }
}

void Run::resume(const LoadedCheckpoint& newest) {
  std::vector<std::string> changed;
  if (start_.compare) {
    changed = start_.compare(newest);
  } else {
    check_same_run(newest, *model_);
  }
  model_->load(newest.tensors);
  log_.line(fmt::format("continuing from {} (step {})", newest.file.path, newest.info.step));
  for (const std::string& difference : changed) log_.line("warning: " + difference);
  checkpoint_path_ = newest.file.path;
}

// Sends the values of the main rank to all, and begins the metrics there.
void Run::share() {
  if (!model_->parallel_plan().empty()) log_.line(model_->parallel_plan());
  if (!setup_.session.tune.empty()) log_.line("kernels chosen by time: plan " + model_->kernel_plan());
  if (ranks_.size() > 1) {
    log_.line(
        fmt::format("{}; parameters and states are those of rank 0, checksum {}", start_.ranks_text, model_->share()));
    if (model_->ranks_draw_apart()) {
      log_.line(
          "dropout: each rank draws masks of its own, and N ranks drop other elements than one rank with all their "
          "images (reproducibility deterministic: the same ones)");
    }
  }
  if (ranks_.main() && !setup_.directory.empty()) {
    metrics_.emplace(setup_.directory, model_->global_step());
  } else {
    metrics_.emplace();
  }
  metrics_->share(ranks_);
  for (const std::string& note : metrics_->notes()) log_.line(note);
}

void Run::describe(CheckpointInfo& info) const {
  if (start_.describe) {
    start_.describe(info);
  } else {
    tell_run(*model_, info);
  }
}

// Adds what the saver does not know about the run.
void Run::complete(CheckpointInfo& saved) const {
  describe(saved);
  if (!start_.stepped) return;
  const PrecisionPhase phase = accelerator_ != nullptr ? accelerator_->phase() : phase_;
  saved.precision_phase = phase == PrecisionPhase::original ? kOriginalPhase : kReducedPhase;
}

// The loop knows steps; a target loss must come from the user.
bool Run::tells_progress() const {
  return start_.stepped->mode.trigger == AccelerateMode::Trigger::step || start_.stepped->final_loss ||
         with_environment({}).target_loss;
}

RunResult Run::train(Feed& feed, const RunPlan& plan, const std::source_location& at) {
  const InterruptGuard guard;
  const bool evaluates = plan.evaluation.every > 0;
  StepLogOptions line_options = plan.lines;
  line_options.skipped = metrics_->skipped_steps();
  StepLog lines(line_options, log_);
  MetricsLog numbers(lines, *metrics_);
  FiniteLoss finite(setup_.directory);
  EpochLog epochs(plan.lines.batch_size, log_);
  std::vector<Callback*> callbacks{&lines, &numbers};
  callbacks.insert(callbacks.end(), plan.first.begin(), plan.first.end());
  callbacks.insert(callbacks.end(), {&finite, &epochs});
  callbacks.insert(callbacks.end(), plan.middle.begin(), plan.middle.end());
  // Also before each evaluation: whatever ends that, the steps are kept.
  const bool saves = setup_.save.save && !setup_.directory.empty();
  CheckpointSaver saver({.directory = setup_.directory,
                         .periods = {setup_.save.seconds > 0 ? 0 : setup_.save.steps, plan.evaluation.every},
                         .seconds = setup_.save.seconds,
                         .keep = setup_.save.keep,
                         .writes = ranks_.main()},
                        [this](CheckpointInfo& saved) { complete(saved); });
  if (!checkpoint_path_.empty()) saver.continues(checkpoint_path_, step());
  if (saves && (ranks_.main() || !model_->holdings().everything())) callbacks.push_back(&saver);
  std::vector<SavesCheckpoints*> savers = savers_in(plan.middle);
  PeriodicEvaluation evaluation(
      plan.evaluation.every, plan.evaluation.records,
      [&] { return plan.evaluation.evaluate ? plan.evaluation.evaluate() : std::nullopt; }, log_, *metrics_, savers);
  if (evaluates) callbacks.push_back(&evaluation);
  std::optional<KeepBest> best;
  if ((saves || !savers.empty()) && ranks_.main()) {
    savers.push_back(&saver);
    best.emplace(saves ? setup_.directory : std::string(), savers, [&] { return evaluation.last(); }, log_);
    best->goes_on(metrics_->evaluations());
    if (evaluates) callbacks.push_back(&*best);
  }
  std::optional<EarlyStopping> early;
  if (plan.evaluation.patience > 0)
    callbacks.push_back(&early.emplace(early_stopping(plan.evaluation, evaluation, log_)));
  // The callback itself checks the evaluation at the step where the run resumes: it may still be due.
  for (const EvaluationRow& row : metrics_->evaluations()) {
    if (early && row.step < step()) early->count(best_measure(row));
  }
  TrainingProgress progress;
  std::optional<TellMeStepOrLossHook> tell;
  std::optional<Accelerator> accelerator;
  if (start_.stepped) {
    const bool by_step = start_.stepped->mode.trigger == AccelerateMode::Trigger::step;
    const TellMeOptions told =
        by_step ? TellMeOptions{.step = "global_step:0", .total_step = plan.loop.total_steps}
                : TellMeOptions{.loss = "loss:0", .final_loss = start_.stepped->final_loss.value_or(0)};
    if (tells_progress()) callbacks.push_back(&tell.emplace(told, progress));
    accelerator.emplace(AcceleratorOptions{.mode = start_.stepped->mode,
                                           .original = start_.stepped->original,
                                           .phase = phase_,
                                           .log = [this](const std::string& line) { log_.line(line); }},
                        progress);
    callbacks.push_back(&*accelerator);
    accelerator_ = &*accelerator;
  }
  callbacks.insert(callbacks.end(), plan.last.begin(), plan.last.end());
  std::optional<TimeLimit> limit;
  if (plan.end_of_time) callbacks.push_back(&limit.emplace(*plan.end_of_time, [&] { return saver.longest(); }));
  StopNotice notice([&] { return saves ? saver.path() : std::string(); }, plan.end_of_time_text, log_);
  callbacks.push_back(&notice);
  std::optional<RanksReport> exchanged;
  if (ranks_.size() > 1) callbacks.push_back(&exchanged.emplace(log_));

  const struct Forget {
    Run& run;
    const std::optional<Accelerator>& accelerator;
    ~Forget() {
      if (accelerator) run.phase_ = accelerator->phase();
      run.accelerator_ = nullptr;
    }
  } forget{*this, accelerator};
  Loop steps(*model_, feed, plan.loop);
  const RunContext end = steps.run(callbacks, at);
  checkpoint_path_ = saver.path();
  best_ = best ? best->best() : std::nullopt;
  interrupted_ = end.interrupted();
  RunResult result = result_of(end, lines);
  result.evaluation = evaluates ? evaluation.last() : metrics_->evaluation();
  return result;
}

RunResult Run::result_of(const RunContext& end, const StepLog& lines) const {
  RunResult result{.step = end.step(),
                   .ranks = ranks_.size(),
                   .writes = ranks_.main(),
                   .interrupted = end.interrupted(),
                   .skipped_steps = lines.skipped_steps(),
                   .last = lines.last(),
                   .mean_fps = lines.mean_fps(),
                   .log_path = path_of(setup_.log_name),
                   .metrics_path = metrics_->path(),
                   .checkpoint_path = checkpoint_path_,
                   .best = best_};
  if (best_ && !checkpoint_path_.empty()) result.best_path = path_of(checkpoint_name(best_->step));
  return result;
}

}  // namespace ridgeline::train
