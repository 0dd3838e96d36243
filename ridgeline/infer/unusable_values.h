// ridgeline/infer/unusable_values.h
//
// Values that make a model unusable: NaN and infinities, and variances below 0. Read-only; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/core/tensor.h"

namespace ridgeline {

// "conv1.weight: 2 of 432 values are not finite, the first is nan at [0, 1, 2, 0]" for a tensor that is read as f32, or
// "bn1.running_var: 1 of 16 values is below 0, the first is -0.5 at [3]" for a variance; empty if all values are
// usable.
std::string unusable_values(std::string_view name, const Tensor& stored, bool variance);

// An Error that begins with `where` and has the first of the texts; none if `unusable` is empty.
void expect_usable(const std::string& where, const std::vector<std::string>& unusable);

}  // namespace ridgeline
