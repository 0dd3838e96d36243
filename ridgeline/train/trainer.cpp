#include "ridgeline/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <filesystem>

#include "ridgeline/core/atomic_file.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/version.h"
#include "ridgeline/data/runtime/iterator.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/train/bind_batch.h"
#include "ridgeline/train/checkpoint.h"
#include "ridgeline/train/datasets.h"
#include "ridgeline/train/directory_lock.h"
#include "ridgeline/train/evaluator.h"
#include "ridgeline/train/finite.h"
#include "ridgeline/train/interrupt.h"
#include "ridgeline/train/metrics.h"
#include "ridgeline/train/network.h"
#include "ridgeline/train/resume_check.h"
#include "ridgeline/train/session_options.h"
#include "ridgeline/train/synthetic.h"

namespace ridgeline::train {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// With synthetic data an epoch is as long as that of the full data set of the recipe.
constexpr std::int64_t kSyntheticRecords = 1281167;

// The trace is written when the run is over: what would prevent that is said before it begins.
void check_trace_file(const std::string& path) {
  if (path.empty()) return;
  std::error_code none;
  const fs::file_type type = fs::status(path, none).type();
  // Devices and pipes are opened when there is something for them.
  if (type == fs::file_type::character || type == fs::file_type::fifo || type == fs::file_type::socket) return;
  const AtomicFile probe(path);
}

class Trainer {
 public:
  explicit Trainer(const Recipe& recipe)
      : recipe_(recipe),
        session_(session_options(recipe)),
        log_((make_directories(recipe.log_dir), log_path(recipe))) {}

  TrainingResult run() {
    check_trace_file(recipe_.trace);
    open();
    std::int64_t step = network_->global_step();
    result_.evaluation = metrics_->evaluation();
    const bool evaluated = result_.evaluation || !plan_.evaluates_at(step) || evaluate(step);
    if (step >= plan_.total_steps) {
      log_.line(fmt::format("the run has already done its {} steps", step));
    } else if (evaluated) {
      log_.line(kStepHeader);
      step = loop(step);
    }
    result_.step = step;
    result_.log_path = log_path(recipe_);
    result_.metrics_path = metrics_->path();
    if (data_iterator_) {
      report_bad_samples(step);
      report_data();
    }
    if (session_.trace()) session_.trace()->write(recipe_.trace);
    return result_;
  }

 private:
  static std::string log_path(const Recipe& recipe) { return (fs::path(recipe.log_dir) / recipe.log_name).string(); }

  void open() {
    const bool evaluates = recipe_.mode == Mode::train_and_evaluate;
    if (recipe_.synthetic) {
      data_.training_records = kSyntheticRecords;
      data_.num_classes = recipe_.num_classes == 0 ? 1000 : recipe_.num_classes;
      if (evaluates) throw Error("--synthetic has no validation part: use --mode=train", ErrorKind::usage);
    } else {
      data_ = open_data(recipe_, {.training = true, .validation = evaluates});
    }
    log_.line(fmt::format("ridgeline {} ({}, {} threads)", kVersion, device::name_of(device::active_isa()),
                          session_.compute_threads()));
    log_.line(fmt::format("total num_training_sampels: {}", data_.training_records));
    if (evaluates) log_.line(fmt::format("total num_evaluating_sampels: {}", data_.validation_records));
    for (const std::string& note : data_.notes) log_.line(note);
    for (const std::string& line : describe(recipe_.precision)) log_.line(line);
    plan_loop();
    log_.line(fmt::format("training steps: {}", plan_.total_steps));
    network_ = std::make_unique<Network>(session_, recipe_, data_.num_classes);
    network_->prepare_training(schedule_of(recipe_, steps_per_epoch_));
    if (recipe_.synthetic) {
      synthetic_ = std::make_unique<SyntheticBatch>(network_->options(), data_.num_classes, recipe_.seed);
    }
    std::optional<data::IteratorState> start = resume();
    if (!result_.checkpoint_path.empty()) saved_at_ = network_->global_step();
    metrics_.emplace(recipe_.log_dir, network_->global_step());
    for (const std::string& note : metrics_->notes()) log_.line(note);
    if (!recipe_.synthetic) {
      data_iterator_.emplace(*data_.training, data::IteratorOptions{.workers = recipe_.num_workers,
                                                                    .epochs = data::kForever,
                                                                    .start = start,
                                                                    .raw_images = recipe_.enable_data_pre_proc,
                                                                    .bad_samples = recipe_.bad_samples,
                                                                    .trace = session_.trace(),
                                                                    .log = &session_.log()});
    }
  }

  void plan_loop() {
    steps_per_epoch_ = std::max<std::int64_t>(1, data_.training_records / recipe_.batch_size);
    plan_.total_steps = recipe_.max_train_steps.value_or(recipe_.max_epochs * steps_per_epoch_);
    plan_.loop_given = recipe_.iterations_per_loop > 0;
    plan_.loop = plan_.loop_given ? recipe_.iterations_per_loop : std::min<std::int64_t>(steps_per_epoch_, 100);
    plan_.summary = recipe_.save_summary_steps;
    plan_.display = recipe_.display_every;
    plan_.checkpoint = recipe_.do_checkpoint ? recipe_.save_checkpoints_steps : 0;
    plan_.evaluation = recipe_.mode == Mode::train_and_evaluate ? recipe_.epochs_between_evals * steps_per_epoch_ : 0;
  }

  // From the newest checkpoint of the log directory; else from --restore_path; else from the drawn parameters.
  std::optional<data::IteratorState> resume() {
    auto newest = load_newest(recipe_.log_dir, [&](const std::string& text) { log_.line("warning: " + text); });
    if (newest) {
      const CheckpointInfo& saved = newest->info;
      const std::uint64_t graph_hash = data_.training ? data_.training->hash() : 0;
      const std::vector<std::string> changed = check_resume(newest->file, saved, info(saved.step), graph_hash);
      network_->load(newest->tensors);
      log_.line(fmt::format("continuing from {} (step {})", newest->file.path, saved.step));
      for (const std::string& difference : changed) log_.line("warning: " + difference);
      if (!recipe_.restore_path.empty())
        log_.line("warning: --restore_path has no effect: the run goes on with the weights of its checkpoint");
      result_.checkpoint_path = newest->file.path;
      if (saved.data_state.empty()) return std::nullopt;
      return data::IteratorState::from_json(saved.data_state);
    }
    if (!recipe_.restore_path.empty()) {
      if (!is_regular_file(recipe_.restore_path))
        throw Error("no such file: " + recipe_.restore_path + " (--restore_path)");
      const nn::WeightMatch match = network_->load_weights(recipe_.restore_path, recipe_.restore_exclude,
                                                           "leave them out with --restore_exclude");
      log_.line(fmt::format("restored {} of {} tensors from {}", match.loaded.size(),
                            match.loaded.size() + match.missing.size() + match.excluded.size(), recipe_.restore_path));
      const auto list = [&](const char* what, const std::vector<std::string>& names) {
        if (!names.empty()) log_.line(fmt::format("  {}: {}", what, fmt::join(names, ", ")));
      };
      list("left out (--restore_exclude)", match.excluded);
      list("not in the file, drawn anew", match.missing);
      list("in the file, not in the model", match.unexpected);
    }
    return std::nullopt;
  }

  // Binds the next batch; the previous one goes back to the workers. False: the run stops here.
  bool feed() {
    if (interrupted() || !loss_is_finite()) return false;
    if (!recipe_.synthetic && !next_batch_or_error()) return false;
    Program& program = network_->training();
    if (recipe_.synthetic) {
      synthetic_->bind(program);
    } else {
      bind_batch(program, batch_->image(), batch_->label(), recipe_.enable_data_pre_proc ? &batch_->flip() : nullptr);
    }
    has_outputs_ = true;
    return true;
  }

  bool next_batch_or_error() {
    batch_.reset();
    TraceSpan wait(session_.trace(), "wait", "next batch");
    try {
      batch_ = next_batch(*data_iterator_, recipe_);
    } catch (const Error&) {
      data_error_ = std::current_exception();  // thrown on when the steps before it are saved
      return false;
    }
    RIDGELINE_CHECK(batch_.has_value(), "an endless data set ended");
    return true;
  }

  // Of the last step. Costs nothing: what a program on this device returns lies in the host's memory.
  bool loss_is_finite() {
    if (!has_outputs_) return true;
    Program& program = network_->training();
    return std::isfinite(program.output("loss").at(0)) && std::isfinite(program.output("total_loss").at(0));
  }

  std::int64_t loop(std::int64_t step) {
    double time = 0;  // of the host calls since the last line
    std::int64_t steps_in_line = 0;
    while (step < plan_.total_steps) {
      const std::int64_t stop = plan_.next_stop(step);
      const Clock::time_point begin = Clock::now();
      const std::int64_t done = network_->training().run_loop(stop - step, [&] { return feed(); });
      time += seconds_since(begin);
      steps_in_line += done;
      step += done;
      const bool finite = loss_is_finite();
      const bool stopped = !finite || data_error_ || interrupted();
      if (steps_in_line > 0 && (stopped || plan_.logs_at(step))) {
        write_line(step, time, steps_in_line);
        time = 0;
        steps_in_line = 0;
      }
      if (!finite) {
        const StepLine& line = result_.last;
        stop_not_finite(step, fmt::format("Invalid loss ({}, with the penalty {})", line.loss, line.total_loss));
      }
      if (stopped) {
        leave(step);
        return step;
      }
      RIDGELINE_CHECK(step == stop, "the loop ended early");
      if (data_iterator_ && step / steps_per_epoch_ > (step - done) / steps_per_epoch_) report_bad_samples(step);
      const double rate = time > 0 ? static_cast<double>(recipe_.batch_size * steps_in_line) / time : result_.last.fps;
      log_.progress("training", step, plan_.total_steps, rate);
      if (plan_.saves_at(step)) save(step);
      if (plan_.evaluates_at(step) && !evaluate(step)) return step;
    }
    return step;
  }

  void write_line(std::int64_t step, double time, std::int64_t steps) {
    Program& program = network_->training();
    StepLine line;
    line.step = step;
    line.epoch = static_cast<double>(step * recipe_.batch_size) / static_cast<double>(data_.training_records);
    line.loss = program.output("loss").at(0);
    line.total_loss = program.output("total_loss").at(0);
    line.lr = program.output("learning_rate").at(0);
    // A loop that was cut short counts by its share, so FPS * batch_time = batch * iterations_per_loop always holds.
    line.batch_time = time * static_cast<double>(plan_.loop) / static_cast<double>(steps);
    line.fps = static_cast<double>(recipe_.batch_size * plan_.loop) / line.batch_time;
    log_.line(to_text(line));
    metrics_->write(line);
    result_.last = line;
  }

  // The run ends after `step`, before its last: the steps done are saved.
  void leave(std::int64_t step) {
    const bool saves = recipe_.do_checkpoint && step > 0;
    if (saves) save(step);
    log_.line(fmt::format("{} after step {}{}", data_error_ ? "stopped" : "interrupted", step,
                          saves ? ", saved " + result_.checkpoint_path : ""));
    if (data_error_) std::rethrow_exception(data_error_);
    result_.interrupted = true;
  }

  [[noreturn]] void stop_not_finite(std::int64_t step, const std::string& what) {
    const auto good = newest_finite_checkpoint(recipe_.log_dir);
    throw Error(fmt::format("step {}: {}, terminating training. The learning rate ({}) may be too high. {}", step, what,
                            *network_->training().output("learning_rate").data<float>(),
                            good ? "The last good checkpoint is " + *good : "There is no checkpoint before it"));
  }

  CheckpointInfo info(std::int64_t step) const {
    CheckpointInfo info;
    info.model = recipe_.model;
    const nn::ModelOptions options =
        nn::complete_options(nn::model_named(recipe_.model), network_->options().model_options);
    info.init = options.init;
    info.final_relu = options.final_relu.value_or(false);
    info.num_classes = data_.num_classes;
    info.image_size = network_->options().image_size;
    info.step = step;
    info.steps_per_epoch = steps_per_epoch_;
    info.seed = recipe_.seed;
    if (data_iterator_) info.data_state = batch_ ? batch_->state_after().to_json() : data_iterator_->state().to_json();
    info.label_base = data_.label_base;
    info.class_names = data_.classes.names;
    info.class_ids = data_.classes.ids;
    const optim::OptimizerArguments& learning = recipe_.optimization.arguments;
    const optim::OptimizerEntry& optimizer = optim::optimizer_named(recipe_.optimization.optimizer);
    info.settings = RunSettings{.data = recipe_.synthetic ? "synthetic" : data_.layout,
                                .records = data_.training_records,
                                .batch_size = recipe_.batch_size,
                                .min_area = recipe_.min_area,
                                .flip = recipe_.flip,
                                .max_epochs = recipe_.max_epochs,
                                .warmup_epochs = recipe_.warmup_epochs,
                                .lr = recipe_.lr,
                                .momentum = learning.momentum.value_or(optimizer.momentum),
                                .use_nesterov = learning.nesterov.value_or(optimizer.nesterov),
                                .weight_decay = recipe_.weight_decay,
                                .label_smoothing = recipe_.label_smoothing,
                                .dropout_keep = options.dropout_keep.value_or(1),
                                .optimizer = recipe_.optimization.optimizer,
                                .lr_schedule = recipe_.optimization.schedule,
                                .optimizer_settings = optimizer_settings(recipe_.optimization),
                                .schedule_settings = schedule_settings(recipe_.optimization),
                                .parameter_groups = group_settings(recipe_.optimization),
                                .precision_mode = name_of(mode_of(recipe_.precision)),
                                .reproducibility = recipe_.reproducibility};
    return info;
  }

  // Only numbers that are finite: as a new checkpoint removes an old one, the last good one would be lost.
  void save(std::int64_t step) {
    if (saved_at_ == step) return;
    TraceSpan span(session_.trace(), "checkpoint", "save");
    const std::vector<NamedTensor> tensors = network_->to_file();
    const std::string bad = first_not_finite(tensors);
    if (!bad.empty()) stop_not_finite(step, bad + " holds numbers that are not finite");
    result_.checkpoint_path = save_checkpoint(recipe_.log_dir, info(step), tensors, recipe_.max_checkpoint_to_save);
    saved_at_ = step;
  }

  // False when interrupted.
  bool evaluate(std::int64_t step) {
    log_.line("Evaluating");
    log_.line(fmt::format("Validation dataset size: {}", data_.validation_records));
    auto row = evaluate_once(*network_, *data_.validation, recipe_, session_, log_);
    if (!row) {
      log_.line("Keyboard interrupt during evaluation");
      leave(step);
      return false;
    }
    row->step = step;
    const std::int64_t epoch = (step + steps_per_epoch_ - 1) / steps_per_epoch_;
    row->epoch = static_cast<double>(epoch);
    row->checkpoint_time =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    log_.line(kEvaluationHeader);
    log_.line(to_text(*row));
    log_.line("Finished evaluation");
    metrics_->write(*row);
    result_.evaluation = row;
    return true;
  }

  // After each epoch and at the end, where there are new ones.
  void report_bad_samples(std::int64_t step) {
    const std::int64_t count = data_iterator_->bad_samples();
    if (count == bad_samples_reported_) return;
    bad_samples_reported_ = count;
    const std::string& list = recipe_.bad_samples.quarantine;
    log_.line(fmt::format("bad samples: {} replaced so far (at most {}: --bad_sample_budget){}", count,
                          recipe_.bad_samples.budget, list.empty() ? "" : ", listed in " + list));
    metrics_->write_bad_samples(step, static_cast<double>(step) / static_cast<double>(steps_per_epoch_), count);
  }

  void report_data() {
    const std::string advice = data_iterator_->stats().advice();
    if (!advice.empty()) log_.line(advice);
  }

  const Recipe& recipe_;
  Session session_;
  TrainingLog log_;
  std::optional<Metrics> metrics_;  // opened when the step is known at which the run goes on
  RunData data_;
  LoopPlan plan_;
  std::int64_t steps_per_epoch_ = 1;
  std::int64_t saved_at_ = -1;     // the step of the newest checkpoint, where it is this run's
  bool has_outputs_ = false;       // a step was done in this process
  std::exception_ptr data_error_;  // why there is no next batch
  std::int64_t bad_samples_reported_ = 0;
  std::unique_ptr<Network> network_;
  std::unique_ptr<SyntheticBatch> synthetic_;
  std::optional<data::Iterator> data_iterator_;
  std::optional<data::Batch> batch_;
  TrainingResult result_;
};

}  // namespace

std::int64_t LoopPlan::next_stop(std::int64_t step) const {
  std::int64_t stop = total_steps;
  const auto cut = [&](std::int64_t period) {
    if (period > 0) stop = std::min(stop, (step / period + 1) * period);
  };
  cut(loop);
  cut(summary);
  cut(checkpoint);
  cut(evaluation);
  return stop;
}

bool LoopPlan::logs_at(std::int64_t step) const {
  if (step == total_steps) return true;
  if (step != 1 && step % display != 0) return false;
  return step % summary == 0 || (loop_given && step % loop == 0);
}

bool LoopPlan::evaluates_at(std::int64_t step) const {
  return evaluation > 0 && step > 0 && (step >= total_steps || step % evaluation == 0);
}

bool LoopPlan::saves_at(std::int64_t step) const {
  return checkpoint > 0 && (step == total_steps || step % checkpoint == 0 || evaluates_at(step));
}

TrainingResult train(const Recipe& recipe) {
  check(recipe);
  const DirectoryLock lock(recipe.log_dir);
  InterruptGuard guard;
  return Trainer(recipe).run();
}

}  // namespace ridgeline::train
