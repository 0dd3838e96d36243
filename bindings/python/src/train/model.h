// bindings/python/src/train/model.h
//
// The implementation of ridgeline.train.Model: a net, a loss and an optimizer. Owns a run (train/run.h) from the first
// training on; before that, a model that only evaluates and predicts. One thread at a time: a call from another thread
// while it works, or from a forked process, is an Error; callbacks may call it.
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

// The components of a model, without its session settings.
struct ModelPlan {
  PyNet net;
  PyLoss loss;
  std::optional<PyOptimizer> optimizer;
  Columns columns;
  std::optional<BatchForm> form;  // of a row, if no data define them
  std::uint64_t seed = 1;
  SessionOptions session;
  CompileOptions compile;
  nn::GradientRules gradients;
  double average = 0;
  std::vector<std::string> class_names;
  // Settings of several ranks.
  bool stand_alone = false;      // trains without the other ranks
  std::int64_t batch_parts = 0;  // RunSetup::batch_parts
  bool sync_batch_norm = false;  // batch norms compute statistics over the batches of all ranks
};

class PyModel {
 public:
  explicit PyModel(ModelPlan plan);
  ~PyModel();
  PyModel(const PyModel&) = delete;
  PyModel& operator=(const PyModel&) = delete;

  // How train() saves its run.
  struct Keeping {
    std::string directory;
    train::SaveRules save;
  };
  train::RunResult train(std::int64_t epochs, const data::Dataset& dataset, const Keeping& keeping,
                         const std::vector<train::Callback*>& callbacks, const train::EpochOptions& options);
  // Means over the rows. If `metrics(classes)` is not empty, a second pass computes these metrics; `classes` is 0 for a
  // net that returns no class scores.
  std::map<std::string, double> evaluate(
      const data::Dataset& dataset, const std::function<std::vector<train::Metric*>(std::int64_t classes)>& metrics);
  // Creates the parameters for batches of the format of these data.
  void build(const data::Dataset& dataset);

  // The outputs of the net's prediction for these rows, by name.
  std::map<std::string, Tensor> predict(const std::vector<NamedTensor>& inputs);
  // Predicts one file; the most probable class comes first.
  std::vector<infer::ClassProbability> predict_file(const std::string& path);
  infer::Model exported();

  // Parameters and statistics, as stored in files.
  std::vector<NamedTensor> values();
  WeightMatch load(std::span<const NamedTensor> stored, const WeightRules& rules);
  std::int64_t step() const { return run_ ? run_->step() : 0; }
  const ModelPlan& plan() const { return plan_; }
  // The ranks that train it together. (Rank i has rows i, i + ranks, ... of all; i is its first_row().)
  OwnRank own_rank() const { return plan_.stand_alone ? OwnRank() : python::own_rank(); }
  std::int64_t first_row() const;
  std::string device() const { return plan_.session.device; }
  bool trains() const { return run_ != nullptr; }
  bool training_now() const { return training_; }
  // Text format of the graph of the training step, or of the prediction if the model does not train.
  std::string graph_text();
  // The columns that the net reads.
  std::vector<std::string> inputs() const;

  // Marks the model as in use by this thread during its lifetime.
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
  Predicting& predicting();  // of the current values

  ModelPlan plan_;
  std::shared_ptr<Forms> forms_;
  std::unique_ptr<Bare> bare_;
  std::unique_ptr<train::Run> run_;
  std::string directory_;
  BatchForm batch_;                  // of this rank, on which the run trains
  std::vector<NamedTensor> loaded_;  // from before the run, as stored in files
  std::int64_t loads_ = 0;

  std::unique_ptr<Predicting> predicting_;

  std::atomic<std::thread::id> at_work_{};
  bool training_ = false;  // train() is running
  pid_t process_;
};

void bind_model(nb::module_& m);

}  // namespace ridgeline::python
