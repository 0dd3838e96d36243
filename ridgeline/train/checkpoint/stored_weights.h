// ridgeline/train/checkpoint/stored_weights.h
//
// Weights to begin with, whatever they lie in: a safetensors file that another program wrote (torchvision's names), a
// checkpoint of a run or the folder of its checkpoints, a model file (*.rdgm). Plain values; tensors are handles.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/core/given_function.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/train/checkpoint/checkpoint.h"

namespace ridgeline::train {

struct StoredWeights {
  std::string path;                    // of the file
  std::string model;                   // that the file is of; empty: it does not say
  std::optional<CheckpointInfo> info;  // of a checkpoint
  std::string exif_orientation = {};   // of a model file: how it takes images; empty: it does not say
  std::vector<NamedTensor> tensors;    // as safetensors files hold them (infer/weights.h); no slots, no counters
  // "checkpoint of resnet20 at step 500, 10 classes, image size 32", "model file of resnet18", "weights".
  std::string description() const;
};

// Where a run kept averages of its parameters, those stand for them, as in its evaluations. Of a folder, the newest
// checkpoint that is whole; `warn` is told of each newer one. An Error for a file that is missing or none of these; for
// a pickle of PyTorch it says how to convert it.
StoredWeights read_weights(const std::string& path, const OptionalFunction<void(std::string)>& warn);
// The newest checkpoint of a folder alone. An Error where there is none.
StoredWeights newest_weights(const std::string& directory, const OptionalFunction<void(std::string)>& warn);

}  // namespace ridgeline::train
