// ridgeline/train/run.h
//
// A training as one object: session, model, training loop, log and metrics, checkpoints, phases of precision, ranks,
// and resuming. However many calls and processes it consists of, and with other workers, loops and ranks, it gives the
// bits of an uninterrupted run. Owns all of these; data sets, feeds and callbacks belong to the caller. One thread;
// each rank has its own run and makes the same calls.
//
//   train::Run run(network, {.optimizer = optim::Adam{}}, {.directory = "runs/flowers", .seed = 1});
//   run.train_epochs(90, flowers, {&monitor});  // killed? the same program goes on
//   std::cout << run.evaluate(validation)["top_1"];
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "ridgeline/train/callback/accelerator.h"
#include "ridgeline/train/callback/checkpoint_saver.h"
#include "ridgeline/train/callback/step_log.h"
#include "ridgeline/train/checkpoint/best_evaluation.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/checkpoint/directory_lock.h"
#include "ridgeline/train/loop/loop.h"
#include "ridgeline/train/metric/metric.h"
#include "ridgeline/train/metrics.h"
#include "ridgeline/train/ranks/ranks.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

// When a run is saved, and which checkpoints are kept.
struct SaveRules {
  bool save = true;
  std::int64_t steps = 1000;  // between checkpoints; 0: none by steps
  double seconds = 0;         // above 0: after the loop that ends this long after the last one
  std::int64_t keep = 5;      // newest files, in addition to that of the best evaluation
};

struct RunSetup {
  // Gets checkpoints, metrics.jsonl, TensorBoard's events and the log. It is locked during the run. Empty: nothing is
  // kept, and each process begins at step 0.
  std::string directory = "";
  std::uint64_t seed = 1;  // for Model::set_seed(), if a network is given instead of a model
  SaveRules save = {};
  std::string log_name = "training.log";  // of the human log, none of run_files.h; empty: no file
  LogTo log_to = LogTo::file;
  SessionOptions session = {};
  RunRanks ranks = {};
  // A power of two: the batch of a step, over all ranks, is computed in this many parts, whose sums are added in pairs,
  // so that the bits do not depend on the number of ranks. The network must be that of one part, and the session's bits
  // must be deterministic or portable. 0: one part for each rank.
  std::int64_t batch_parts = 0;
  CompileOptions compile = {};  // if a network is given instead of a model
};

// Most of a run in reduced precision, the rest in the original one (accelerate.h).
struct SteppedPrecision {
  AccelerateMode mode;
  PrecisionPolicy reduced, original;
  std::optional<double> final_loss = {};  // target of the trigger `loss`
};

// The start of a run's model.
struct RunStart {
  nn::TrainingOptions training = {};
  std::optional<SteppedPrecision> stepped = {};
  // Adds to a checkpoint's information what the run itself does not know: classes, settings.
  std::function<void(CheckpointInfo&)> describe = {};
  // Whether the run may be resumed from this checkpoint, before any value is set: an Error if it is of another run.
  // Returns what is different from here on, one sentence each. The default compares network and seed.
  std::function<std::vector<std::string>(const LoadedCheckpoint&)> compare = {};
  // If there is no checkpoint: sets initial weights in place of drawn ones.
  std::function<void(Model&)> fresh = {};
  // A line that says how several ranks exchange gradients.
  std::string ranks_text = "gradients are exchanged between the ranks";
};

// Evaluations of a run while it trains.
struct EvaluationPlan {
  std::int64_t every = 0;    // steps between evaluations; and at the end. 0: none
  std::int64_t records = 0;  // for the log
  // Fills all fields but step, epoch and time; nullopt: the user interrupted it.
  std::function<std::optional<EvaluationRow>()> evaluate = {};
  std::int64_t patience = 0;  // the run ends when this many in a row were not better than the best one; 0: never
  bool classifies = true;     // they have top-1
};

// One call of a run's training loop.
struct RunPlan {
  LoopOptions loop = {};
  StepLogOptions lines = {};  // `skipped` is set by the run
  EvaluationPlan evaluation = {};
  // Called in this order: `first`, the check that the loss is finite, `middle`, the save, the evaluation, the switch of
  // precision, `last`.
  std::vector<Callback*> first = {}, middle = {}, last = {};
  std::optional<std::chrono::steady_clock::time_point> end_of_time = {};  // everything is saved by then
  std::string end_of_time_text = "the limit of time";
};

struct RunResult {
  std::int64_t step = 0;
  std::int64_t ranks = 1;          // that trained together
  bool writes = true;              // with several ranks: this one wrote log, metrics and checkpoints
  bool interrupted = false;        // the user or a limit of time stopped it; the steps done are in the checkpoint
  std::int64_t skipped_steps = 0;  // of the run so far: their gradients overflowed under a loss scale
  StepLine last = {};              // of the last log line
  double mean_fps = 0;             // of this process's log lines except the first, unless it is the only one
  std::optional<EvaluationRow> evaluation = {};  // of the last evaluation, also that of an earlier process at `step`
  std::string log_path = "";
  std::string metrics_path = "";
  std::string checkpoint_path = "";         // empty if none was written
  std::optional<BestCheckpoint> best = {};  // of the run's evaluations
  std::string best_path = "";
};

// Options of a call that trains by epochs. Only `evaluate_every` and `patience` change the bits of the result.
struct EpochOptions {
  std::int64_t loop = 100;                    // largest number of steps without the host
  const data::Dataset* validation = nullptr;  // to evaluate; null: no evaluation
  std::int64_t evaluate_every = 1;            // epochs; and at the end
  std::int64_t patience = 0;                  // evaluations, see EvaluationPlan
  data::IteratorOptions data = {};            // workers, memory, bad samples; the run sets epochs, start and seed
};

class Run {
 public:
  // Makes session, lock, log and ranks; begin() makes the model.
  explicit Run(RunSetup setup);
  // A run of this network, which takes batches of this rank. It resumes from the newest intact checkpoint of the
  // directory; a checkpoint of another network or seed is an Error.
  Run(nn::Network network, const nn::TrainingOptions& training, RunSetup setup = {}) : Run(std::move(setup)) {
    begin(std::move(network), {.training = training});
  }
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Trains for `epochs` more epochs over the data, which must know their size and have full batches (and, if a step
  // accumulates several, full steps); with several ranks each gives its own shard (Dataset::shard) in its own batches.
  // Epochs are counted over all calls of the program: five twice are ten, and a program that was killed in the seventh
  // and is started again skips the first call, continues in the second, and gives the bytes of an uninterrupted one.
  // Ctrl-C ends the running step, saves, and makes this call and later ones return. A callback that is null is an Error
  // with the line.
  RunResult train_epochs(std::int64_t epochs, const data::Dataset& dataset, std::span<Callback* const> callbacks,
                         const EpochOptions& options = {},
                         const std::source_location& at = std::source_location::current());
  RunResult train_epochs(std::int64_t epochs, const data::Dataset& dataset,
                         std::initializer_list<Callback*> callbacks = {}, const EpochOptions& options = {},
                         const std::source_location& at = std::source_location::current()) {
    return train_epochs(epochs, dataset, std::span<Callback* const>(callbacks.begin(), callbacks.size()), options, at);
  }
  // The rows of this rank, from data that are not batched yet.
  data::Dataset part_of(const data::Dataset& rows) const;
  // As evaluate() and predict() of estimator.h; each rank evaluates its own rows, and all get the sums.
  std::map<std::string, double> evaluate(const data::Dataset& dataset);
  void evaluate(const data::Dataset& dataset, std::span<Metric* const> metrics,
                const std::source_location& at = std::source_location::current());
  std::map<std::string, Tensor> predict(const std::vector<NamedTensor>& inputs);

  // Prepares the step of a model in session(), from the newest checkpoint or anew. Once.
  void begin(std::unique_ptr<Model> model, RunStart start);
  // The same for a network instead of a model: the model is made from the setup.
  void begin(nn::Network network, RunStart start);
  // Runs the training loop, with log, metrics, checkpoints, evaluations and the switch of precision. If the run is
  // stopped (by the user, an unreadable sample, a loss that is not finite), no step is lost that can be kept: the last
  // step gets its line and, unless its numbers are no longer finite, its checkpoint. An evaluation that was due but not
  // completed is made when the run is resumed.
  RunResult train(Feed& feed, const RunPlan& plan, const std::source_location& at = std::source_location::current());

  Session& session() { return session_; }
  const Ranks& ranks() const { return ranks_; }
  TrainingLog& log() { return log_; }
  Model& model() { return *model_; }  // after begin(), as all below
  Metrics& metrics() { return *metrics_; }
  std::int64_t step() const { return model_->global_step(); }
  // The position in the data from the newest checkpoint, as it was read.
  const std::optional<data::IteratorState>& data_start() const { return data_start_; }

 private:
  std::optional<CheckpointInfo> find(std::optional<LoadedCheckpoint>& newest);
  void prepare(const CheckpointInfo* saved);
  void resume(const LoadedCheckpoint& newest);
  void share();
  void describe(CheckpointInfo& info) const;
  void complete(CheckpointInfo& saved) const;
  bool tells_progress() const;
  std::string path_of(const std::string& name) const;
  RunResult result_of(const RunContext& end, const StepLog& lines) const;

  RunSetup setup_;
  std::unique_ptr<DirectoryLock> lock_;  // of the main rank
  Session session_;
  Ranks ranks_;
  TrainingLog log_;
  RunStart start_;
  std::unique_ptr<Model> model_;
  std::optional<Metrics> metrics_;  // opened when the step is known from which the run continues
  std::optional<data::IteratorState> data_start_;
  std::string checkpoint_path_;                     // the newest one
  PrecisionPhase phase_ = PrecisionPhase::reduced;  // for which the step is compiled
  const Accelerator* accelerator_ = nullptr;        // of the current call
  std::optional<BestCheckpoint> best_;
  std::int64_t asked_steps_ = 0;  // requested by train_epochs() so far
  bool interrupted_ = false;
};

}  // namespace ridgeline::train
