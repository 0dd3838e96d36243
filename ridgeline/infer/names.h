// ridgeline/infer/names.h
//
// The names of a prediction's input and results.
#pragma once

namespace ridgeline::infer {

inline constexpr const char* kImages = "images";
inline constexpr const char* kProbabilities = "probabilities";
inline constexpr const char* kLogits = "logits";

}  // namespace ridgeline::infer
