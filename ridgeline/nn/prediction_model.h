// ridgeline/nn/prediction_model.h
//
// A model of the table with trained weights, as one value that no longer needs the table or the weights' file: for
// predictions, and to be written into a file (infer/model_file.h).
#pragma once

#include <span>
#include <string>

#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/infer/model.h"
#include "ridgeline/infer/weights.h"
#include "ridgeline/nn/training_step.h"

namespace ridgeline::nn {

// The prediction step over `images` u8 pixels (or, as `options` says, normalised f32), with the evaluation transform of
// its image size as preprocessing (u8 only). `stored` are the tensors of a weight file, which must have all that the
// model needs (take_weights()). No class names. `note` gets WeightMatch::note().
infer::Model prediction_model(const StepOptions& options, std::span<const NamedTensor> stored, WeightRules rules,
                              std::string* note = nullptr);

}  // namespace ridgeline::nn
