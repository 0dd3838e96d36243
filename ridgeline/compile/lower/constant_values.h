// ridgeline/compile/lower/constant_values.h
//
// What a graph computes only from stored values that it does not change: a program computes that once, and recomputes
// it when one of the stored values has a new version. Returned values are not included: each run computes them.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

struct ConstantValues {
  std::vector<bool> values;          // by value, without arguments
  std::vector<std::string> sources;  // names of the stored values that they depend on
};

ConstantValues constant_values(const Graph& graph);

}  // namespace ridgeline
