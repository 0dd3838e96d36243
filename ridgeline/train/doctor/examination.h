// ridgeline/train/doctor/examination.h
//
// What several checks need, made when first needed: a batch, the first step with all its values, the report about the
// files, predictions of known weights. Borrows the subject. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/runtime/batch.h"
#include "ridgeline/data/tool/inspect.h"
#include "ridgeline/train/doctor/subject.h"
#include "ridgeline/train/model.h"
#include "ridgeline/train/step_values.h"

namespace ridgeline::train {

// Copies of a batch's columns, by the names of the step's inputs.
using InputBatch = std::map<std::string, Tensor, std::less<>>;
InputBatch copy_of(const data::Batch& batch, const nn::Network& network);
// Binds the inputs of the program; one that `batch` lacks is an Error that names it.
void bind_inputs(Program& program, const InputBatch& batch);

// The model at the start of its run, in its own session.
struct StartedModel {
  // The step and the weights of `subject`, with this schedule instead of its own.
  StartedModel(const Subject& subject, const optim::Schedule& schedule, const PrecisionPolicy& precision);

  Session session;
  Model model;
  std::vector<std::string> restored;  // parameters that came from subject.restore_path
};

// Its first step, with all values.
struct FirstStep {
  FirstStep(const Subject& subject, const PrecisionPolicy& precision, const InputBatch& batch);

  StartedModel started;
  nn::Step step;
  std::vector<nn::TrainedParameter> trained;
  StepValues values;
  std::vector<ValueId> gradients;  // of `trained`, as the updates read them
  // The op that computes probabilities and losses from logits and labels; null: another kind of loss.
  const Node* loss = nullptr;
  ValueId first_input = kNoValue;  // what the first op with a parameter reads
};

// Predictions for labelled images by weights that know the classes.
struct Recognition {
  std::vector<std::int64_t> labels, predicted;
  std::vector<std::int64_t> predicted_swapped;  // with red and blue exchanged; empty without three channels
  std::int64_t classes = 0;
};

class Examination {
 public:
  explicit Examination(const Subject& subject) : subject_(subject) {}

  const Subject& subject() const { return subject_; }
  // The first batch of training. An Error if there are no data.
  const InputBatch& batch();
  FirstStep& first_step();  // in f32
  // nullptr: no directory.
  const data::InspectReport* files();
  // nullptr: `why` gives the reason.
  const Recognition* recognition(std::string& why);
  // The median height and width of the stored images; 0: unknown.
  std::pair<int, int> image_extent();

 private:
  const Subject& subject_;
  std::optional<InputBatch> batch_;
  std::unique_ptr<FirstStep> first_step_;
  std::optional<data::InspectReport> files_;
  std::optional<Recognition> recognition_;
  std::string no_recognition_;
};

}  // namespace ridgeline::train
