// ridgeline/compile/lower/constant_values.h
//
// What a graph computes from stored values alone, none of which it changes: a program computes that once, and again
// when one of the stored values has another version. What is returned is not among it: each run computes that.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

struct ConstantValues {
  std::vector<bool> values;          // by value, arguments apart
  std::vector<std::string> sources;  // names of the stored values that they are made of
};

ConstantValues constant_values(const Graph& graph);

}  // namespace ridgeline
