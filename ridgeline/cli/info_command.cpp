#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <span>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/flags.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/core/version.h"
#include "ridgeline/device/devices.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/nn/models.h"
#include "ridgeline/train/checkpoint/checkpoint.h"

namespace ridgeline::cli {
namespace {

void print_machine() { fmt::print("ridgeline {}\nmachine: {}\n\n", kVersion, device_named("cpu").entry->describe()); }

// Every device with its properties, or why it cannot be used.
void print_devices() {
  for (const DeviceEntry* entry : devices()) {
    std::string text(entry->doc);
    try {
      if (entry->describe) text += "\n  " + entry->describe();
    } catch (const Error& error) {
      text += std::string("\n  cannot be used: ") + error.what();
    }
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
      if (text.compare(at, 3, "\n  ") != 0) text.insert(at + 1, "  ");
    }
    fmt::print("{}: {}\n", entry->name, text);
  }
}

void print_models() {
  fmt::print("{:<22}{:>6}{:>14}{:>9}  {}\n", "model", "image", "parameters", "classes", "description");
  for (const nn::ModelInfo& m : nn::all_models()) {
    fmt::print("{:<22}{:>6}{:>14}{:>9}  {}\n", m.name, m.image_size, m.parameters, m.classes, m.description);
  }
}

void print_tensors(std::span<const NamedTensor> tensors) {
  std::int64_t elements = 0;
  for (const NamedTensor& t : tensors) {
    fmt::print("{:<44} {}{}\n", printable(t.name), name_of(t.tensor.dtype()), t.tensor.shape().to_string());
    elements += t.tensor.elements();
  }
  fmt::print("{} tensors, {} elements\n", tensors.size(), elements);
}

void print_model(const std::string& path) {
  const infer::Model model = infer::read_model(path);
  fmt::print("model: {}\n", printable(model.name));
  for (std::size_t i = 0; i < model.class_names.size(); ++i)
    fmt::print("class {}: {}\n", i, printable(model.class_names[i]));
  print_tensors(model.tensors);
}

// Of a folder, the newest checkpoint.
std::string file_in(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return path;
  const std::vector<train::CheckpointFile> saved = train::list_checkpoints(path);
  if (saved.empty()) throw Error("no checkpoint model.ckpt-<step>.safetensors in " + path);
  fmt::print("{}\n", printable(saved.back().path));
  return saved.back().path;
}

void print_file(const std::string& given) {
  const std::string path = file_in(given);
  if (infer::is_model_file(path)) return print_model(path);
  const SafetensorsFile file(path);
  for (const auto& [key, value] : file.metadata()) fmt::print("{}: {}\n", printable(key), printable(value));
  print_tensors(file.tensors());
}

}  // namespace

int info_command(const Words& words) {
  Command app("show the machine, the built-in models, devices, or the contents of model files", "info");
  std::vector<std::string> files;
  app.option("FILE", files, "files to list: checkpoints or their folders, exported models, other safetensors files");
  bool devices_alone = false;
  app.flag("--devices", devices_alone, "list the devices and their properties, or why one cannot be used");
  if (!app.parse(words)) return 0;
  if (devices_alone) print_devices();
  if (files.empty() && !devices_alone) {
    print_machine();
    print_models();
  }
  for (const std::string& file : files) print_file(file);
  return 0;
}

}  // namespace ridgeline::cli
