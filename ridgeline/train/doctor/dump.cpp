#include "ridgeline/train/doctor/dump.h"

#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/data/runtime/iterator.h"
#include "ridgeline/train/doctor/examination.h"
#include "ridgeline/train/loop/interrupt.h"
#include "ridgeline/train/recipe/restore_weights.h"
#include "ridgeline/train/value_dump.h"

namespace ridgeline::train {
namespace {

struct PartName {
  const char* name;
  DumpPart part;
};
constexpr PartName kParts[] = {
    {"training", DumpPart::training}, {"evaluation", DumpPart::evaluation}, {"prediction", DumpPart::prediction}};

// A step is one batch, even where training accumulates several.
nn::TrainingOptions of_one_batch(nn::TrainingOptions training) {
  training.gradients.accumulate = 1;
  return training;
}

nn::Step step_for(const Subject& subject, DumpPart part) {
  if (part == DumpPart::evaluation) return nn::build_evaluation_step(subject.network);
  if (part == DumpPart::prediction) return nn::build_prediction_step(subject.network);
  return nn::build_training_step(subject.network, of_one_batch(subject.training), subject.seed);
}

// The next inputs: those of the file, or a batch of the split's data with a mask of its real rows.
class Inputs {
 public:
  Inputs(const Subject& subject, const DumpOptions& options) : subject_(subject) {
    if (!options.inputs.empty()) {
      const SafetensorsFile file(options.inputs);
      for (const NamedTensor& t : file.tensors()) fixed_[t.name] = t.tensor.clone();
      return;
    }
    const bool validation = options.part != DumpPart::training && subject.validation_data;
    const std::optional<data::Dataset>& data = validation ? subject.validation_data : subject.training_data;
    if (!data) throw Error("[doctor] there are no data: give inputs by a file");
    batches_ = std::make_unique<data::Iterator>(
        *data, data::IteratorOptions{.epochs = data::kForever, .raw_images = subject.raw_images});
  }
  InputBatch next() {
    if (!batches_) return fixed_;
    const std::optional<data::Batch> batch = batches_->next();
    if (!batch) throw Error("[doctor] the data are empty");
    InputBatch inputs = copy_of(*batch, subject_.network);
    Tensor mask = Tensor::zeros(DType::f32, Shape{batch->rows()});
    for (std::int64_t n = 0; n < batch->samples(); ++n) mask.set(n, 1);
    inputs[nn::kMaskInput] = mask;
    return inputs;
  }

 private:
  const Subject& subject_;
  InputBatch fixed_;
  std::unique_ptr<data::Iterator> batches_;
};

}  // namespace

DumpPart dump_part_named(const std::string& name) {
  for (const PartName& part : kParts)
    if (part.name == name) return part.part;
  throw Error("[doctor] unknown part '" + name + "' (allowed: training, evaluation, prediction)", ErrorKind::usage);
}

DumpReport write_dump(const std::string& path, const Subject& subject, const DumpOptions& options) {
  const bool trains = options.part == DumpPart::training;
  Session session(subject.session);
  Model model(session, subject.network, {.seed = subject.seed, .compile = subject.compile});
  if (trains) model.prepare_training(of_one_batch(subject.training));
  if (options.part == DumpPart::evaluation) model.prepare_evaluation();
  if (options.part == DumpPart::prediction) model.prepare_prediction();
  // Reference weights are loaded completely; else those with which the run would start.
  const bool known = !trains && !subject.reference.empty();
  const std::string& weights = known ? subject.reference : subject.restore_path;
  if (!weights.empty()) {
    const std::vector<std::string> exclude = known ? std::vector<std::string>{} : subject.restore_exclude;
    // NaN among them is accepted: it may be what is being looked for.
    load_weights(model, weights,
                 {.exclude = exclude, .advice = "these are the weights of another set-up", .any_value = true});
  }
  const nn::Step step = step_for(subject, options.part);
  CompileOptions compile = subject.compile;
  if (trains) compile.precision = with_exact_scope(compile.precision, step.graph);
  StepValues values(session, step.graph, compile);
  Inputs inputs(subject, options);
  const ValueId loss = step.graph.find_return(nn::kLossResult);
  DumpReport report;
  while (report.step < (trains ? options.steps : 1)) {
    if (interrupted()) throw Error("interrupted", ErrorKind::interrupted);
    const InputBatch batch = inputs.next();
    bind_inputs(values.program(), batch);
    values.run();
    ++report.step;
    if (loss != kNoValue && !std::isfinite(values.tensor_of(loss).at(0))) break;
  }

  const std::vector<std::size_t> all = every_value(values);
  if (const std::size_t bad = first_not_finite(values); bad < all.size())
    report.first_not_finite = describe(values.values()[bad]);
  report.values = all.size();
  write_values(path, values, all);
  return report;
}

}  // namespace ridgeline::train
