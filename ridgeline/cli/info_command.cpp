#include <fmt/format.h>

#include <cstdio>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/flags.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/core/version.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/nn/models.h"

namespace ridgeline::cli {
namespace {

void print_machine() {
  std::string isas;
  for (device::Isa isa : device::machine_isas()) isas += (isas.empty() ? "" : ", ") + std::string(device::name_of(isa));
  fmt::print("ridgeline {}\nmachine: {} cores, instruction sets {} (in use: {})\n\n", kVersion, available_cores(), isas,
             device::name_of(device::active_isa()));
}

void print_models() {
  fmt::print("{:<22}{:>6}{:>14}{:>9}  {}\n", "model", "image", "parameters", "classes", "description");
  for (const nn::ModelInfo& m : nn::all_models()) {
    fmt::print("{:<22}{:>6}{:>14}{:>9}  {}\n", m.name, m.image_size, m.parameters, m.classes, m.description);
  }
}

void print_file(const std::string& path) {
  const SafetensorsFile file(path);
  for (const auto& [key, value] : file.metadata()) fmt::print("{}: {}\n", printable(key), printable(value));
  std::int64_t elements = 0;
  for (const NamedTensor& t : file.tensors()) {
    fmt::print("{:<44} {}{}\n", printable(t.name), name_of(t.tensor.dtype()), t.tensor.shape().to_string());
    elements += t.tensor.elements();
  }
  fmt::print("{} tensors, {} elements\n", file.tensors().size(), elements);
}

}  // namespace

int info_command(const Words& words) {
  Command app("models, machine, checkpoints", "info");
  std::vector<std::string> files;
  app.option("files", files, "checkpoints or other safetensors files to list");
  if (!app.parse(words)) return 0;
  if (files.empty()) {
    print_machine();
    print_models();
  }
  for (const std::string& file : files) print_file(file);
  return 0;
}

}  // namespace ridgeline::cli
