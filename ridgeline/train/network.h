// ridgeline/train/network.h
//
// A model in a session: its parameters in the store, and the programs that use them, compiled when first needed. Owned
// by the trainer or the evaluator; borrows the session. One thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/compile/compile.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/nn/weights.h"
#include "ridgeline/train/recipe.h"

namespace ridgeline::train {

// Advice for weights that are used as they are.
inline constexpr std::string_view kOtherClasses = "--num_classes tells how many classes the weights have";

class Network {
 public:
  Network(Session& session, const Recipe& recipe, std::int64_t num_classes);

  // Compiles the step, makes slots and global_step, and draws the initial parameters by `recipe.seed`.
  void prepare_training(const optim::Schedule& schedule);
  // Of the training step without fusion, which is not made. After prepare_training().
  LaunchCounts count_unfused();
  void prepare_evaluation();
  void prepare_prediction();
  Program& prediction() { return *prediction_; }
  Program& training() { return *training_; }
  Program& evaluation() { return *evaluation_; }

  std::int64_t global_step() const;
  // Everything a checkpoint holds, in file form, in the order of declaration.
  std::vector<NamedTensor> to_file() const;
  // Sets every parameter, statistic and slot from a checkpoint's tensors; anything missing or of another shape is an
  // Error that names it. Without training, slots and counters in the file are passed over.
  void load(const SafetensorsFile& file);
  // Sets what matches; returns the lists for the log. An Error if nothing matches or a shape differs; `advice` says
  // there what its reader can do.
  nn::WeightMatch load_weights(const std::string& path, std::span<const std::string> exclude, std::string_view advice);

  const nn::StepOptions& options() const { return options_; }

 private:
  void declare(const nn::Step& step);
  CompileOptions compile_options(const char* part) const;

  Session& session_;
  const Recipe& recipe_;
  nn::StepOptions options_;
  PrecisionPolicy precision_;
  std::vector<nn::ParameterSpec> parameters_;
  Graph training_graph_;  // as it was built
  std::unique_ptr<Program> training_;
  std::unique_ptr<Program> evaluation_;
  std::unique_ptr<Program> prediction_;
};

}  // namespace ridgeline::train
