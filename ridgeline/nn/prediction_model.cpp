#include "ridgeline/nn/prediction_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ridgeline/compile/weights.h"
#include "ridgeline/core/error.h"

namespace ridgeline::nn {

infer::Model prediction_model(const StepOptions& options, std::span<const NamedTensor> stored, const std::string& where,
                              std::string_view advice) {
  Step step = build_prediction_step(options);
  const WeightMatch match = match_weights(step.parameters, stored);
  if (!match.mismatched.empty()) {
    throw Error(fmt::format("{} shapes differ: {}{}{}{}", where, fmt::join(match.mismatched, "; "),
                            advice.empty() ? "" : " (", advice, advice.empty() ? "" : ")"));
  }
  if (!match.missing.empty()) {
    throw Error(fmt::format("{} lacks {} of model {}", where, fmt::join(match.missing, ", "), options.model->name));
  }
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
