// bindings/python/src/train/model.h
//
// The model behind ridgeline.train.Model: a net, a loss and an optimizer; a run (train/run.h) from the first training
// on, and before that, or without one, a model that evaluates and predicts. Owns both. One thread at a time: a call
// from another one while it is at work, or from a process that was forked, is an Error; callbacks may ask it.
#pragma once

#include <nanobind/nanobind.h>
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../bind.h"
#include "network.h"
#include "optimization.h"
#include "ranks.h"
#include "ridgeline/infer/loaded_model.h"
#include "ridgeline/infer/predictor.h"
#include "ridgeline/train/metric/metric.h"
#include "ridgeline/train/run.h"

namespace ridgeline::python {

// What a model is made of, beside its settings of a session.
struct ModelPlan {
  PyNet net;
  PyLoss loss;
  std::optional<PyOptimizer> optimizer;
  Columns columns;
  std::optional<BatchForm> form;  // of a row, where no data tell
  std::uint64_t seed = 1;
  SessionOptions session;
  CompileOptions compile;
  nn::GradientRules gradients;
  double average = 0;
  std::vector<std::string> class_names;
  // Of several ranks.
  bool stand_alone = false;      // it trains by itself
  std::int64_t batch_parts = 0;  // RunSetup::batch_parts
  bool sync_batch_norm = false;  // batch norms take their statistics over the batches of all
};

class PyModel {
 public:
  explicit PyModel(ModelPlan plan);
  ~PyModel();
  PyModel(const PyModel&) = delete;
  PyModel& operator=(const PyModel&) = delete;

  // How a call of train() keeps its run.
  struct Keeping {
    std::string directory;
    train::SaveRules save;
  };
  train::RunResult train(std::int64_t epochs, const data::Dataset& dataset, const Keeping& keeping,
                         const std::vector<train::Callback*>& callbacks, const train::EpochOptions& options);
  // The means over the rows. A second pass counts the metrics: those that `metrics(classes)` gives, where it is not
  // empty; of a net that returns no scores of classes there are 0 of them.
  std::map<std::string, double> evaluate(
      const data::Dataset& dataset, const std::function<std::vector<train::Metric*>(std::int64_t classes)>& metrics);
  // Makes its parameters for batches as these data have.
  void build(const data::Dataset& dataset);

  // What the net's prediction returns for these rows, by name.
  std::map<std::string, Tensor> predict(const std::vector<NamedTensor>& inputs);
  // Of one file, the most probable class first.
  std::vector<infer::ClassProbability> predict_file(const std::string& path);
  infer::Model exported();

  // Parameters and statistics, as files have them.
  std::vector<NamedTensor> values();
  WeightMatch load(std::span<const NamedTensor> stored, const WeightRules& rules);
  std::int64_t step() const { return run_ ? run_->step() : 0; }
  const ModelPlan& plan() const { return plan_; }
  // Of the ranks that train it together. (rows i, i + ranks, ... of all are those of one rank, i is its first_row().)
  OwnRank own_rank() const { return plan_.stand_alone ? OwnRank() : python::own_rank(); }
  std::int64_t first_row() const;
  std::string device() const { return plan_.session.device; }
  bool trains() const { return run_ != nullptr; }
  bool training_now() const { return training_; }
  // Text format of the training step's graph, or of the prediction's where nothing is trained.
  std::string graph_text();
  // The columns that the net takes.
  std::vector<std::string> inputs() const;

  // While alive, this thread is at work with the model.
  class Work {
   public:
    explicit Work(PyModel& model);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    PyModel& model_;
    bool outer_;
  };

 private:
  struct Bare;
  struct Predicting;
  train::Model& any_model(const BatchForm* form);
  void begin(const BatchForm& form, const TrainingLength& length, const Keeping& keeping, const train::RunRanks& ranks);
  train::RunResult train_over(const train::RunRanks& ranks, std::int64_t epochs, const data::Dataset& dataset,
                              const Keeping& keeping, const std::vector<train::Callback*>& callbacks,
                              const train::EpochOptions& options);
  std::map<std::string, double> evaluate_over(
      const train::RunRanks& ranks, const data::Dataset& dataset,
      const std::function<std::vector<train::Metric*>(std::int64_t classes)>& metrics);
  std::int64_t parts_of(const train::RunRanks& ranks) const;
  const BatchForm& known_form() const;
  std::string state_text();
  Predicting& predicting();  // of the values as they are

  ModelPlan plan_;
  std::shared_ptr<Forms> forms_;
  std::unique_ptr<Bare> bare_;
  std::unique_ptr<train::Run> run_;
  std::string directory_;
  BatchForm batch_;                  // of a rank, that the run trains on
  std::vector<NamedTensor> loaded_;  // before the run began, as files have them
  std::int64_t loads_ = 0;

  std::unique_ptr<Predicting> predicting_;

  std::atomic<std::thread::id> at_work_{};
  bool training_ = false;  // train() runs
  pid_t process_;
};

void bind_model(nb::module_& m);

}  // namespace ridgeline::python
