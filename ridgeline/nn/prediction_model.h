// ridgeline/nn/prediction_model.h
//
// A model of the table with trained weights, as one value that needs neither the table nor the weights' file any more:
// to predict with, and to write into a file (infer/model_file.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/infer/model.h"
#include "ridgeline/nn/training_step.h"

namespace ridgeline::nn {

// The prediction step over `images` u8 pixels (or, as `options` says, normalised f32), with the evaluation transform of
// its image size as preprocessing (u8 only). `stored` are the tensors of a weight file, read by match_weights(); one
// that is missing or has another shape is an Error that begins with `where` and names it; of shapes it ends with
// `advice`, what its reader can do. No class names.
infer::Model prediction_model(const StepOptions& options, std::span<const NamedTensor> stored, const std::string& where,
                              std::string_view advice = {});

}  // namespace ridgeline::nn
