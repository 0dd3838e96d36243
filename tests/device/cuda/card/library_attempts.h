// tests/device/cuda/card/library_attempts.h
//
// The ways in which NVIDIA's libraries compute one layer on a card, and memory to run them on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/device/cuda/cudnn/target.h"
#include "tests/device/cuda/card/card_memory.h"
#include "tests/device/cuda/card/library_plans.h"
#include "tests/device/cuda/plans/model_layers.h"

namespace ridgeline::cuda {

inline constexpr std::size_t kPlanWorkspaceBytes = std::size_t{512} << 20;

// One way to compute a layer.
struct Attempt {
  std::string name;
  std::size_t workspace_bytes = 0;
  bool compiled = false;  // at run time
  double build_seconds = 0;
  std::function<void(void* const* inputs, void* const* outputs, void* workspace)> run;
};

// A layer of one op on operands of these types.
ModelLayer layer_of(std::string op, Attributes attributes, std::vector<ValueType> inputs);

// Op, types, stride.
std::string short_text(const ModelLayer& layer);

class LayerAttempts {
 public:
  explicit LayerAttempts(const PlansOnCard& card);

  // At most `most`; of those that are compiled at run time at most `most_compiled`. `why` tells why there is none.
  std::vector<Attempt> of(const ModelLayer& layer, bool tf32, std::size_t most, std::size_t most_compiled,
                          std::string& why);

 private:
  std::vector<Attempt> convolutions(const ModelLayer& layer, bool tf32, std::size_t most, std::size_t most_compiled,
                                    std::string& why);
  std::vector<Attempt> products(const ModelLayer& layer, bool tf32, std::size_t most, std::string& why);

  const PlansOnCard& card_;
  cudnn::Target target_;
  std::unique_ptr<void, int (*)(void*)> blas_;
};

// Operands and results of a layer on the card.
struct LayerMemory {
  std::vector<std::unique_ptr<CardMemory>> inputs, outputs;
  std::vector<void*> input_addresses, output_addresses;
  LayerMemory(Calls& calls, const ModelLayer& layer);
};

}  // namespace ridgeline::cuda
