#include "ridgeline/train/recipe/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/process_time.h"
#include "ridgeline/core/version.h"
#include "ridgeline/data/runtime/rows/rows.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/train/callback/accelerator.h"
#include "ridgeline/train/callback/advisor.h"
#include "ridgeline/train/callback/checkpoint_saver.h"
#include "ridgeline/train/callback/data_report.h"
#include "ridgeline/train/callback/early_stopping.h"
#include "ridgeline/train/callback/epoch_log.h"
#include "ridgeline/train/callback/keep_best.h"
#include "ridgeline/train/callback/periodic_evaluation.h"
#include "ridgeline/train/callback/ranks_report.h"
#include "ridgeline/train/callback/step_dump.h"
#include "ridgeline/train/callback/step_log.h"
#include "ridgeline/train/callback/step_times.h"
#include "ridgeline/train/callback/summaries.h"
#include "ridgeline/train/callback/time_limit.h"
#include "ridgeline/train/directory_lock.h"
#include "ridgeline/train/interrupt.h"
#include "ridgeline/train/loop.h"
#include "ridgeline/train/ranks.h"
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
#include "ridgeline/train/recipe/session_options.h"
#include "ridgeline/train/recipe/several_ranks.h"
#include "ridgeline/train/recipe/shared_settings.h"
#include "ridgeline/train/recipe/single_rank_speed.h"
#include "ridgeline/train/resume_check.h"
#include "ridgeline/train/synthetic.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

// With synthetic data an epoch is as long as that of the full data set of the recipe.
constexpr std::int64_t kSyntheticRecords = 1281167;

// Of stepped precision, in checkpoints.
constexpr const char* kReducedPhase = "reduced";
constexpr const char* kOriginalPhase = "original";

// Whether ops of the step draw random numbers.
bool draws(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& node) { return op_def(node.op).has(kRandom); }) ||
         std::any_of(graph.functions.begin(), graph.functions.end(), [](const auto& f) { return draws(f.second); });
}

class Trainer {
 public:
  Trainer(const Recipe& recipe, const RunRanks& ranks)
      : recipe_(recipe),
        session_(options_of(recipe, ranks)),
        ranks_(ranks.all),
        log_(ranks_.main() ? log_path(recipe) : "", ranks_.main()) {}

  TrainingResult run() {
    check_last_file(recipe_.trace);
    check_last_file(recipe_.export_step);
    open();
    if (recipe_.export_compile_stat == 2 && ranks_.main()) write_compile_statistics(*model_, recipe_.log_dir, log_);
    const bool evaluates = recipe_.mode == Mode::train_and_evaluate;
    const std::int64_t evaluation_steps = evaluates ? recipe_.epochs_between_evals * steps_per_epoch_ : 0;
    const std::int64_t loop =
        recipe_.iterations_per_loop > 0 ? recipe_.iterations_per_loop : std::min<std::int64_t>(steps_per_epoch_, 100);

    // In the order in which they are called.
    std::vector<Callback*> callbacks;
    StepLog lines({.batch_size = step_images(),
                   .records = data_.training_records,
                   .loop = loop,
                   .every_loop = recipe_.iterations_per_loop > 0,
                   .summary = summary_steps(loop),
                   .display = recipe_.display_every,
                   .skipped = metrics_->skipped_steps()},
                  log_);
    MetricsLog numbers(lines, *metrics_);
    FiniteLoss finite(recipe_.log_dir);
    EpochLog epochs(step_images(), log_);
    Advisor advisor({.classes = data_.num_classes,
                     .warmup_steps = recipe_.warmup_epochs * steps_per_epoch_,
                     .final_relu = info().final_relu},
                    log_);
    callbacks = {&lines, &numbers};
    std::optional<StepDump> dump;  // before the run ends by a loss that is not finite
    if (!recipe_.dump.path.empty()) {
      StepDumpOptions options = step_dump_options(recipe_.dump);
      options.log = [this](const std::string& line) { log_.line(line); };
      callbacks.push_back(&dump.emplace(std::move(options)));
    }
    callbacks.insert(callbacks.end(), {&finite, &epochs, &advisor});
    std::optional<Summaries> summaries;
    if (ranks_.main()) {
      callbacks.push_back(&summaries.emplace(SummaryOptions{.histogram_steps = recipe_.histogram_steps,
                                                            .picture_steps = recipe_.picture_steps,
                                                            .graph = recipe_.save_graph,
                                                            .compile = compile_options(recipe_)},
                                             metrics_->events()));
    }
    std::optional<DataReport> data_report;
    if (data_feed_) {
      callbacks.push_back(
          &data_report.emplace(data_feed_->iterator(), recipe_.bad_samples, recipe_.data_ranks() > 1, log_, *metrics_));
    }
    // Before each evaluation, too: whatever ends that, the steps are kept.
    CheckpointSaver saver(
        {.directory = recipe_.log_dir,
         .periods = {recipe_.save_checkpoints_secs > 0 ? 0 : recipe_.save_checkpoints_steps, evaluation_steps},
         .seconds = recipe_.save_checkpoints_secs,
         .keep = recipe_.max_checkpoint_to_save,
         .writes = ranks_.main()},
        [this](CheckpointInfo& saved) { complete(saved); });
    if (!continued_from_.empty()) saver.continues(continued_from_, model_->global_step());
    if (recipe_.do_checkpoint && (ranks_.main() || !model_->holdings().everything())) callbacks.push_back(&saver);
    PeriodicEvaluation evaluation(
        evaluation_steps, data_.validation_records, [this] { return evaluate_model(); }, log_, *metrics_);
    if (evaluates) callbacks.push_back(&evaluation);
    std::optional<KeepBest> best;
    if (recipe_.do_checkpoint && ranks_.main()) {
      best.emplace(recipe_.log_dir, saver, [&] { return evaluation.last(); }, log_);
      best->goes_on(metrics_->evaluations());
      if (evaluates) callbacks.push_back(&*best);
    }
    std::optional<EarlyStopping> early;
    if (recipe_.early_stopping > 0) callbacks.push_back(&early.emplace(early_stopping(evaluation)));
    // Of the one at the step where the run goes on, the callback asks itself: it may still be due.
    for (const EvaluationRow& row : metrics_->evaluations()) {
      if (early && row.step < model_->global_step()) early->count(best_measure(row));
    }
    TrainingProgress progress;
    std::optional<TellMeStepOrLossHook> tell;
    if (accelerate()) {
      if (tells_progress()) callbacks.push_back(&tell.emplace(tell_me(), progress));
      accelerator_.emplace(
          AcceleratorOptions{.mode = *accelerate(),
                             .original = policy_of(original_precision(accelerate(), precision_of(recipe_))),
                             .phase = phase_,
                             .log = [this](const std::string& line) { log_.line(line); }},
          progress);
      callbacks.push_back(&*accelerator_);
    }
    StepTimes times((fs::path(recipe_.log_dir) / kStepTimesFile).string(), log_);
    if (recipe_.explain) callbacks.push_back(&times);
    std::optional<TimeLimit> limit;
    if (recipe_.max_time > 0) callbacks.push_back(&limit.emplace(end_of_time(), [&] { return saver.longest(); }));
    StopNotice notice([&] { return recipe_.do_checkpoint ? saver.path() : std::string(); },
                      fmt::format("--max_time ({})", duration_text(recipe_.max_time)), log_);
    callbacks.push_back(&notice);
    std::optional<RanksReport> exchanged;
    if (ranks_.size() > 1) callbacks.push_back(&exchanged.emplace(log_));

    Loop steps(
        *model_, *feed_,
        {.total_steps = total_steps_, .steps_per_epoch = steps_per_epoch_, .loop = loop, .cut_at_epochs = false});
    const RunContext end = steps.run(callbacks);

    TrainingResult result;
    result.ranks = ranks_.size();
    result.writes = ranks_.main();
    result.step = end.step();
    result.interrupted = end.interrupted();
    result.last = lines.last();
    result.mean_fps = lines.mean_fps();
    result.skipped_steps = lines.skipped_steps();
    result.single_rank_fps = single_rank_fps_;
    if (single_rank_fps_ > 0 && result.mean_fps > 0) {
      const double each = result.mean_fps / static_cast<double>(result.ranks);
      log_.line(fmt::format("ranks: {:.1f} images/s, {:.1f} a device; one device alone {:.1f}: scaling {:.3f}",
                            result.mean_fps, each, single_rank_fps_, each / single_rank_fps_));
    }
    result.evaluation = evaluates ? evaluation.last() : metrics_->evaluation();
    result.has_validation = data_.has_validation;
    result.log_path = log_path(recipe_);
    result.metrics_path = metrics_->path();
    result.checkpoint_path = saver.path();
    if (best && best->best()) {
      result.best = best->best();
      result.best_path = (fs::path(recipe_.log_dir) / checkpoint_name(result.best->step)).string();
    }
    if (session_.trace()) session_.trace()->write(recipe_.trace);
    if (recipe_.export_compile_stat == 1 && ranks_.main()) write_compile_statistics(*model_, recipe_.log_dir, log_);
    if (!recipe_.export_step.empty()) {
      infer::Model step = model_->exported_training();
      step.class_names = data_.classes.names;
      infer::write_model(recipe_.export_step, step);
      log_.line(fmt::format("training step after {} steps: {}", model_->global_step(), recipe_.export_step));
    }
    return result;
  }

 private:
  static SessionOptions options_of(const Recipe& recipe, const RunRanks& ranks) {
    SessionOptions options = session_options(recipe);
    if (ranks.all) options.groups[kWorld] = ranks.all;
    if (ranks.workers) options.groups[kWorkersGroup] = ranks.workers;
    return options;
  }
  static std::string log_path(const Recipe& recipe) {
    return (fs::path(recipe.log_dir) / log_name_of(recipe)).string();
  }

  // The time of a job counts from the start of its process.
  std::chrono::steady_clock::time_point end_of_time() const {
    const std::chrono::duration<double> left(recipe_.max_time - process_milliseconds() / 1000);
    return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(left);
  }

  // With the averages of parameters, where they are kept.
  std::optional<EvaluationRow> evaluate_model() {
    std::optional<EvaluationRow> row;
    model_->with_averages([&] { row = evaluate_once(*model_, data_, recipe_, session_, log_); });
    return row;
  }

  // Loops that the user has not chosen are an epoch's steps where those are fewer than 100.
  std::int64_t summary_steps(std::int64_t loop) const {
    if (recipe_.save_summary_steps > 0) return recipe_.save_summary_steps;
    return recipe_.iterations_per_loop > 0 ? 100 : loop;
  }

  // Of all batches of a step, on all ranks.
  std::int64_t step_images() const {
    return recipe_.batch_size * recipe_.optimization.accumulate_steps * recipe_.data_ranks();
  }

  EarlyStoppingOptions early_stopping(const PeriodicEvaluation& evaluation) {
    return {.patience = recipe_.early_stopping,
            .greater_is_better = true,
            .what = kBestMeasure,
            .measure = [&evaluation](const RunContext& context) -> std::optional<double> {
              const auto& row = evaluation.last();
              if (!row || row->step != context.step()) return std::nullopt;
              return best_measure(*row);
            },
            .log = [this](const std::string& line) { log_.line(line); }};
  }

  const std::optional<AccelerateMode>& accelerate() const { return recipe_.experimental.accelerate; }
  // Steps are known to the loop; what loss is aimed at, its user has to say.
  bool tells_progress() const {
    return accelerate()->trigger == AccelerateMode::Trigger::step || recipe_.final_loss ||
           with_environment({}).target_loss;
  }
  TellMeOptions tell_me() const {
    if (accelerate()->trigger == AccelerateMode::Trigger::step)
      return {.step = "global_step:0", .total_step = total_steps_};
    return {.loss = "loss:0", .final_loss = recipe_.final_loss.value_or(0)};
  }

  // The step, in the precision of the phase that the run is in.
  void prepare(const CheckpointInfo* newest) {
    const nn::TrainingOptions options = training_options(recipe_, schedule_of(recipe_, steps_per_epoch_));
    const bool over = newest && newest->precision_phase == kOriginalPhase;
    if (!accelerate() || over) {
      phase_ = PrecisionPhase::original;
      model_->prepare_training(options);
      return;
    }
    const PrecisionPolicy reduced = policy_of(reduced_precision(*accelerate(), precision_of(recipe_)));
    model_->prepare_training(options, &reduced);
  }

  void open() {
    open_data();
    steps_per_epoch_ = std::max<std::int64_t>(1, data_.training_records / step_images());
    total_steps_ = recipe_.max_epochs * steps_per_epoch_;
    if (recipe_.benchmark) total_steps_ = std::min(total_steps_, kBenchmarkSteps);
    total_steps_ = recipe_.max_train_steps.value_or(total_steps_);
    log_.line(fmt::format("training steps: {}", total_steps_));
    options_ = step_options(recipe_, data_.num_classes);
    ranks_.agree(shared_settings(recipe_, info(), total_steps_));
    if (recipe_.benchmark && ranks_.size() > 1) {
      if (ranks_.main()) single_rank_fps_ = single_rank_speed(recipe_, data_);
      ranks_.largest(0);  // the others wait meanwhile
    }
    model_ = model_of(session_, recipe_, data_.num_classes);
    const std::optional<data::IteratorState> start = begin();
    if (recipe_.serves()) {
      feed_ = std::make_unique<FunctionFeed>([](Program&) { return true; });  // its step has no batch
      return;
    }
    if (recipe_.synthetic) {
      options_.batch_size = recipe_.batch_size;  // of all micro-batches
      feed_ = std::make_unique<SyntheticBatch>(options_, data_.num_classes,
                                               recipe_.seed + static_cast<std::uint64_t>(recipe_.data_rank()));
      return;
    }
    auto feed = std::make_unique<DatasetFeed>(*data_.training,
                                              data::IteratorOptions{.workers = recipe_.num_workers,
                                                                    .memory_limit = recipe_.batch_memory,
                                                                    .epochs = data::kForever,
                                                                    .start = start,
                                                                    .raw_images = recipe_.enable_data_pre_proc,
                                                                    .bad_samples = recipe_.bad_samples,
                                                                    .trace = session_.trace(),
                                                                    .log = &session_.log()},
                                              model_->network().columns, &session_.device());
    data_feed_ = feed.get();
    feed_ = std::move(feed);
  }

  // The step with its parameters, from where the run goes on: what the main rank reads, all have.
  std::optional<data::IteratorState> begin() {
    std::optional<LoadedCheckpoint> newest;
    if (ranks_.main())
      newest = load_newest(recipe_.log_dir, [&](const std::string& text) { log_.line("warning: " + text); });
    std::string text = newest ? newest->info.to_json() : "";
    ranks_.tell(text);
    std::optional<CheckpointInfo> saved;
    if (!text.empty()) saved = CheckpointInfo::from_json(text, recipe_.log_dir);
    prepare(saved ? &*saved : nullptr);
    if (ranks_.main()) resume(newest);
    newest.reset();  // its tensors are in the store
    if (!model_->parallel_plan().empty()) log_.line(model_->parallel_plan());
    if (!recipe_.tune.empty()) log_.line("kernels chosen by time: plan " + model_->kernel_plan());
    if (ranks_.size() > 1) {
      log_.line(fmt::format("{}; parameters and states are those of rank 0, checksum {}", ranks_text(recipe_),
                            model_->share()));
    }
    if (ranks_.size() > 1 && !recipe_.ordered && !recipe_.parallel.divides() && draws(model_->training_graph())) {
      log_.line(
          "dropout: each rank draws masks of its own, and N ranks drop other elements than one rank with all their "
          "images (--reproducibility=deterministic: the same ones)");
    }
    if (ranks_.main())
      metrics_.emplace(recipe_.log_dir, model_->global_step());
    else
      metrics_.emplace();
    metrics_->share(ranks_);
    for (const std::string& note : metrics_->notes()) log_.line(note);
    if (!saved || saved->data_state.empty()) return std::nullopt;
    return data::IteratorState::from_json(saved->data_state);
  }

  void open_data() {
    const bool evaluates = recipe_.mode == Mode::train_and_evaluate;
    if (recipe_.synthetic) {
      data_.training_records = kSyntheticRecords;
      data_.num_classes = recipe_.num_classes == 0 ? 1000 : recipe_.num_classes;
    } else {
      data_ = train::open_data(recipe_, {.training = true, .validation = evaluates});
    }
    const Device &device = session_.device(), &cpu = session_.cpu();
    const std::string beside = &device == &cpu ? "" : fmt::format("{} {}, host ", device.name(), device.architecture());
    log_.line(fmt::format("ridgeline {} ({}{}, {} threads)", kVersion, beside, cpu.architecture(),
                          session_.compute_threads()));
    log_.line(fmt::format("total num_training_sampels: {}", data_.training_records));
    if (evaluates) log_.line(fmt::format("total num_evaluating_sampels: {}", data_.validation_records));
    for (const std::string& note : data_.notes) log_.line(note);
    for (const std::string& line :
         accelerate() ? describe(*accelerate(), precision_of(recipe_)) : describe(precision_of(recipe_)))
      log_.line(line);
  }

  // From the newest checkpoint of the log directory; else from --weights; else from the drawn parameters.
  void resume(const std::optional<LoadedCheckpoint>& newest) {
    if (newest) {
      const CheckpointInfo& saved = newest->info;
      const std::uint64_t graph_hash = data_.training ? data_.training->hash() : 0;
      const std::vector<std::string> changed = check_resume(setting_rows(), newest->file, saved, info(), graph_hash);
      model_->load(newest->tensors);
      log_.line(fmt::format("continuing from {} (step {})", newest->file.path, saved.step));
      for (const std::string& difference : changed) log_.line("warning: " + difference);
      if (!recipe_.restore_path.empty())
        log_.line("warning: --weights has no effect: the run goes on with the weights of its checkpoint");
      continued_from_ = newest->file.path;
      return;
    }
    if (!recipe_.restore_path.empty())
      restore_weights(*model_, recipe_, [this](const std::string& text) { log_.line(text); });
  }

  // What the saver does not know of the run.
  void complete(CheckpointInfo& saved) const {
    CheckpointInfo all = info();
    all.step = saved.step;
    all.data_state = saved.data_state;
    if (accelerator_) {
      all.precision_phase = accelerator_->phase() == PrecisionPhase::original ? kOriginalPhase : kReducedPhase;
    }
    saved = std::move(all);
  }

  // All that a checkpoint says beside the step and the state of the data; before there is a step, but for its kernels.
  CheckpointInfo info() const {
    CheckpointInfo info;
    info.model = recipe_.model;
    const nn::ModelOptions options = nn::complete_options(nn::model_named(recipe_.model), options_.model_options);
    info.init = options.init;
    info.final_relu = options.final_relu.value_or(false);
    info.num_classes = data_.num_classes;
    info.image_size = options_.image_size;
    info.steps_per_epoch = steps_per_epoch_;
    info.seed = recipe_.seed;
    info.label_base = data_.label_base;
    info.class_names = data_.classes.names;
    info.class_ids = data_.classes.ids;
    if (model_) info.plan = model_->kernel_plan();
    info.settings = settings_of(recipe_, recipe_.synthetic ? "synthetic" : data_.layout, data_.training_records);
    return info;
  }

  const Recipe& recipe_;
  Session session_;
  Ranks ranks_;
  TrainingLog log_;
  std::optional<Metrics> metrics_;  // opened when the step is known at which the run goes on
  RunData data_;
  std::int64_t steps_per_epoch_ = 1;
  std::int64_t total_steps_ = 0;
  nn::StepOptions options_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Feed> feed_;
  DatasetFeed* data_feed_ = nullptr;                // feed_, where it is one
  PrecisionPhase phase_ = PrecisionPhase::reduced;  // that the step is compiled for
  std::optional<Accelerator> accelerator_;
  double single_rank_fps_ = 0;  // of a benchmark
  std::string continued_from_;  // a checkpoint of the log directory
};

}  // namespace

namespace {

TrainingResult train_here(const Recipe& recipe, const RunRanks& ranks) {
  std::optional<DirectoryLock> lock;
  if (recipe.rank == 0) lock.emplace(recipe.log_dir);
  InterruptGuard guard;
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
  // The main rank alone reads weights.
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
