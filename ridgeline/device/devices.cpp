#include "ridgeline/device/devices.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/cpu_device.h"
#include "ridgeline/device/cpu/kernel_table.h"
#include "ridgeline/device/plugin.h"

namespace ridgeline {
namespace {

std::unique_ptr<Device> make_cpu(const DeviceOptions& options) {
  return std::make_unique<CpuDevice>(options.promise, options.tune);
}

// What computes by its references has one kernel of each op.
void refuse_to_tune(const DeviceOptions& options, std::string_view name) {
  if (options.tune.empty()) return;
  throw Error("tune measures the kernels of the cpu, and the device is " + std::string(name), ErrorKind::usage);
}

std::unique_ptr<Device> make_simulated(const DeviceOptions& options) {
  SimulatedDeviceOptions simulated = options.simulated;
  refuse_to_tune(options, simulated.name);
  if (options.ordinal > 0) simulated.name += ":" + std::to_string(options.ordinal);
  return std::make_unique<SimulatedDevice>(std::move(simulated));
}

std::unique_ptr<Device> make_unfused(const DeviceOptions& options) {
  SimulatedDeviceOptions simulated = options.simulated;
  simulated.name = "simulated_unfused";
  simulated.fusion = {};
  refuse_to_tune(options, simulated.name);
  return std::make_unique<SimulatedDevice>(std::move(simulated));
}

// NVIDIA's cards are a library of their own (device/cuda).
const DevicePlugin& cuda_plugin() {
  return open_device_plugin("libridgeline_cuda.so", "RIDGELINE_CUDA_PLUGIN", "make cuda builds it");
}

std::unique_ptr<Device> make_cuda(const DeviceOptions& options) { return cuda_plugin().make(options); }

std::deque<DeviceEntry>& table() {
  static std::deque<DeviceEntry> entries = {
      {.name = "cpu",
       .doc = "the host's own processor",
       .make = make_cpu,
       .fp32_computes = {kBf16x3},
       .describe = CpuDevice::describe,
       .fast_bf16 = CpuDevice::fast_bf16},
      {.name = "cuda",
       .doc = "NVIDIA cards from compute capability 8.0 on",
       .make = make_cuda,
       .numbered = true,
       .fp32_computes = {"tf32"},
       .describe = [] { return cuda_plugin().describe(); },
       .fast_bf16 = [] { return true; }},
      {"simulated", "an accelerator for tests: own memory and streams, reference kernels", make_simulated, true},
      {"simulated_unfused", "the same without a compiler for fused loops", make_unfused},
  };
  return entries;
}

const DeviceEntry* find(std::string_view kind) {
  const auto found =
      std::find_if(table().begin(), table().end(), [&](const DeviceEntry& entry) { return entry.name == kind; });
  return found == table().end() ? nullptr : &*found;
}

}  // namespace

std::vector<const DeviceEntry*> devices() {
  std::vector<const DeviceEntry*> entries;
  for (const DeviceEntry& entry : table()) entries.push_back(&entry);
  return entries;
}

void add_device(DeviceEntry entry) {
  RIDGELINE_CHECK(find(entry.name) == nullptr, "there is a device " + std::string(entry.name));
  table().push_back(std::move(entry));
}

std::string device_names() {
  std::string names;
  for (const DeviceEntry* entry : devices()) names += (names.empty() ? "" : ", ") + std::string(entry->name);
  return names;
}

std::unique_ptr<Device> NamedDevice::make(DeviceOptions options) const {
  options.ordinal = ordinal;
  return entry->make(options);
}

NamedDevice device_named(std::string_view name) {
  const std::size_t colon = name.find(':');
  const DeviceEntry* const entry = find(name.substr(0, colon));
  if (entry == nullptr)
    throw Error("unknown device '" + std::string(name) + "' (allowed: " + device_names() + ")", ErrorKind::usage);
  if (colon == std::string_view::npos) return {entry, 0};
  if (!entry->numbered) {
    throw Error(
        "device '" + std::string(name) + "': of " + std::string(entry->name) + " there is one, without a number",
        ErrorKind::usage);
  }
  int ordinal = -1;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + colon + 1, end, ordinal);
  if (parsed.ec != std::errc{} || parsed.ptr != end || ordinal < 0) {
    const std::string kind(entry->name);
    throw Error(
        "device '" + std::string(name) + "': a number is meant behind the colon (" + kind + ":0, " + kind + ":1, ...)",
        ErrorKind::usage);
  }
  return {entry, ordinal};
}

}  // namespace ridgeline
