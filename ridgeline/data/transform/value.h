// ridgeline/data/transform/value.h
//
// Transforms of values of any kind, not only images.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// Converts to another element type. Values that do not fit are an Error.
Transform TypeCast(DType dtype);
// To f32: x * scale + shift.
Transform Rescale(double scale, double shift = 0);
// A class as f32 [classes]: 1 - smoothing at the class, plus smoothing / classes everywhere, times the class's weight
// (one for each class, or none).
Transform OneHot(std::int64_t classes, double smoothing = 0, std::vector<double> weights = {});

struct FunctionOptions {
  std::optional<DType> dtype = {};                      // of the result; absent: unchanged
  std::optional<std::vector<std::int64_t>> shape = {};  // of the result, -1 for an extent that varies
};
// A user function, by the name given to register_function (ir/functions.h).
Transform Function(const std::string& name, FunctionOptions options = {});
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> value_transforms();

}  // namespace ridgeline::data
