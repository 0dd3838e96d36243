// ridgeline/train/checkpoint/stored_weights.h
//
// Weights to begin with, from any kind of file: a safetensors file that another program wrote (torchvision's names), a
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
  std::string model;                   // the model's name; empty: the file does not say
  std::optional<CheckpointInfo> info;  // of a checkpoint
  // Of a model file that classifies images: classes, image size, final_relu. A checkpoint has them in `info`.
  std::optional<ClassifierInfo> classifier = {};
  std::string exif_orientation = {};  // of a model file: how it treats images' orientation; empty: it does not say
  std::vector<NamedTensor> tensors;   // as safetensors files hold them (infer/weights.h); no slots, no counters
  // "checkpoint of resnet20 at step 500, 10 classes, image size 32", "model file of resnet18", "weights".
  std::string description() const;
};

// If a run kept averages of its parameters, these are used, as in its evaluations. Of a folder, takes the newest intact
// checkpoint; `warn` is told of each newer one. An Error for a file that is missing or of another kind; for a pickle of
// PyTorch it says how to convert it.
StoredWeights read_weights(const std::string& path, const OptionalFunction<void(std::string)>& warn);
// Takes only the newest checkpoint of a folder. An Error if there is none.
StoredWeights newest_weights(const std::string& directory, const OptionalFunction<void(std::string)>& warn);

}  // namespace ridgeline::train
