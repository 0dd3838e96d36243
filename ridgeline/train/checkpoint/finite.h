// ridgeline/train/checkpoint/finite.h
//
// Finds infinities and NaN among the values of a checkpoint. Read-only; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/format/tensor/safetensors.h"

namespace ridgeline::train {

bool all_finite(const Tensor& tensor);  // true for integers
// The name of the first tensor with a value that is not finite; empty: none.
std::string first_not_finite(const std::vector<NamedTensor>& tensors);
// The path of the newest readable checkpoint in `directory` whose numbers are all finite. Reads whole files.
std::optional<std::string> newest_finite_checkpoint(const std::string& directory);

}  // namespace ridgeline::train
