// The convolutions and dense layers of the models, from their training steps after all passes: what the libraries'
// plans are tested on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/nn/network.h"

namespace ridgeline {

struct ModelLayer {
  Node node;  // attributes complete
  std::vector<ValueType> inputs, outputs;
  int count = 1;  // nodes of the step that are alike
  bool dense() const { return node.op.starts_with("dense") || node.op == "matmul"; }  // cuBLASLt's
  // Op, attributes and types.
  std::string text() const;
};

// Each once, in the order of the step. `type`: f32, or what convolutions and products read under the precision lists.
std::vector<ModelLayer> layers_of(std::string_view model, std::int64_t batch, DType type);
std::vector<ModelLayer> layers_of(const nn::Network& network, DType type);

}  // namespace ridgeline
