#include "ridgeline/nn/prediction_model.h"

namespace ridgeline::nn {

infer::Model prediction_model(const StepOptions& options, std::span<const NamedTensor> stored, WeightRules rules,
                              std::string* note) {
  Step step = build_prediction_step(options);
  rules.model = options.model->name;
  rules.complete = true;
  const WeightMatch match = take_weights(step.parameters, stored, rules);
  if (note != nullptr) *note = match.note();
  infer::Model model{.name = std::string(options.model->name), .graph = std::move(step.graph), .tensors = {}};
  for (const ParameterSpec& spec : step.parameters) model.tensors.push_back({spec.name, match.tensors.at(spec.name)});
  if (options.images == ImageForm::u8) {
    const std::int64_t side = options.image_size == 0 ? options.model->image_size : options.image_size;
    model.preprocessing = evaluation_transform(*options.model, side);
  }
  infer::check(model);
  return model;
}

}  // namespace ridgeline::nn
