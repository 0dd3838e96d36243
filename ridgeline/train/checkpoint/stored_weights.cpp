#include "ridgeline/train/checkpoint/stored_weights.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/infer/names.h"
#include "ridgeline/infer/weights.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/optim/optimizer.h"

namespace ridgeline::train {
namespace {

// What belongs to a parameter of the file is called "<parameter>/<slot>": slots and averages of the training. An
// average takes the place of its parameter.
std::vector<NamedTensor> without_slots(std::span<const NamedTensor> stored) {
  std::map<std::string, Tensor> by_name;
  for (const NamedTensor& t : stored) by_name.emplace(t.name, t.tensor);
  std::vector<NamedTensor> kept;
  for (const NamedTensor& t : stored) {
    const std::size_t slash = t.name.rfind('/');
    const bool slot = slash != std::string::npos && by_name.contains(t.name.substr(0, slash));
    if (slot || t.tensor.shape().rank() == 0) continue;  // counters have no extents
    const auto average = by_name.find(optim::slot_name(t.name, nn::kAverageSlot));
    kept.push_back({t.name, average == by_name.end() ? t.tensor : average->second});
  }
  return kept;
}

StoredWeights from_checkpoint(LoadedCheckpoint checkpoint) {
  StoredWeights weights{.path = checkpoint.file.path, .model = checkpoint.info.model};
  weights.tensors = without_slots(checkpoint.tensors.tensors());
  weights.info = std::move(checkpoint.info);
  return weights;
}

// What a graph from images to logits says of itself.
std::optional<ClassifierInfo> classifier_in(const infer::Model& model) {
  const Graph& graph = model.graph;
  const ValueId images = graph.find_argument(infer::kImages), logits = graph.find_return(infer::kLogits);
  if (images == kNoValue || logits == kNoValue) return std::nullopt;
  const Shape &pixels = graph.value(images).type.shape, &rows = graph.value(logits).type.shape;
  if (pixels.rank() != 4 || pixels[1] != pixels[2] || rows.rank() != 2) return std::nullopt;
  const int last = producers(graph)[static_cast<std::size_t>(logits)];
  return ClassifierInfo{.init = "",
                        .final_relu = last >= 0 && graph.nodes[static_cast<std::size_t>(last)].op == "relu",
                        .num_classes = rows[1],
                        .image_size = pixels[1],
                        .class_names = model.class_names};
}

StoredWeights from_model_file(const std::string& path) {
  const infer::Model model = infer::read_model(path);
  StoredWeights weights{.path = path, .model = model.name, .info = {}, .classifier = classifier_in(model)};
  if (model.preprocessing) weights.exif_orientation = image::name_of(model.preprocessing->exif_orientation);
  for (const NamedTensor& t : model.tensors) {
    weights.tensors.push_back({t.name, to_file({.name = t.name, .shape = t.tensor.shape()}, t.tensor)});
  }
  return weights;
}

// The archive that torch.save writes, or its older format, a bare pickle. A pickle begins with 0x80, as a safetensors
// file may; but there eight bytes of header length are followed by a brace.
bool is_pickle(const std::string& path) {
  char first[9] = {};
  std::ifstream(path, std::ios::binary).read(first, sizeof first);
  return std::string_view(first, 4) == "PK\x03\x04" || (first[0] == '\x80' && first[8] != '{');
}

// A Python command that converts such a file, also where the tensors are under a trainer's key. Tensors may be views or
// transposed, which the format refuses.
std::string conversion_of(const std::string& path) {
  std::string quoted;
  for (const char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return fmt::format(
      "python3 -c \"import sys, torch, safetensors.torch; "
      "w = torch.load(sys.argv[1], map_location='cpu', weights_only=True); "
      "w = next((w[k] for k in ('state_dict', 'model_state_dict', 'model') if k in w), w); "
      "safetensors.torch.save_file({{k: v.contiguous().clone() for k, v in w.items() if torch.is_tensor(v)}}, "
      "'weights.safetensors')\" '{}'",
      quoted);
}

}  // namespace

std::string StoredWeights::description() const {
  if (info && !info->classifier) return fmt::format("checkpoint of {} at step {}", model, info->step);
  if (info) {
    return fmt::format("checkpoint of {} at step {}, {} classes, image size {}", model, info->step,
                       info->classifier->num_classes, info->classifier->image_size);
  }
  return model.empty() ? "weights" : "model file of " + model;
}

StoredWeights newest_weights(const std::string& directory, const OptionalFunction<void(std::string)>& warn) {
  auto newest = load_newest(directory, warn);
  if (!newest) {
    throw Error("no checkpoint model.ckpt-<step>.safetensors in " + directory + " (--checkpoint_dir)");
  }
  return from_checkpoint(std::move(*newest));
}

StoredWeights read_weights(const std::string& path, const OptionalFunction<void(std::string)>& warn) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) return newest_weights(path, warn);
  if (!is_regular_file(path)) throw Error("no such file: " + path + " (--weights)");
  if (infer::is_model_file(path)) return from_model_file(path);
  if (is_pickle(path)) {
    throw Error(fmt::format(
        "[weights] {}: is a pickle of PyTorch, which is a program and not only numbers. Convert it there: {}", path,
        conversion_of(path)));
  }
  SafetensorsFile file(path);
  if (is_checkpoint(file)) return from_checkpoint(load_checkpoint({.path = path}));
  return {.path = path, .tensors = file.tensors()};
}

}  // namespace ridgeline::train
