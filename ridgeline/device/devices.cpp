#include "ridgeline/device/devices.h"

#include <algorithm>
#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/cpu_device.h"

namespace ridgeline {
namespace {

std::unique_ptr<Device> make_cpu(const DeviceOptions& options) { return std::make_unique<CpuDevice>(options.promise); }

std::unique_ptr<Device> make_simulated(const DeviceOptions& options) {
  return std::make_unique<SimulatedDevice>(options.simulated);
}

std::unique_ptr<Device> make_unfused(const DeviceOptions& options) {
  SimulatedDeviceOptions simulated = options.simulated;
  simulated.name = "simulated_unfused";
  simulated.fusion = {};
  return std::make_unique<SimulatedDevice>(std::move(simulated));
}

constexpr DeviceEntry kDevices[] = {
    {"cpu", "the host's own processor", make_cpu},
    {"simulated", "an accelerator for tests: own memory and stream, reference kernels", make_simulated},
    {"simulated_unfused", "the same without a compiler for fused loops", make_unfused},
};

}  // namespace

std::span<const DeviceEntry> devices() { return kDevices; }

std::string device_names() {
  std::string names;
  for (const DeviceEntry& entry : kDevices) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names;
}

const DeviceEntry& device_named(std::string_view name) {
  const auto found = std::find_if(std::begin(kDevices), std::end(kDevices),
                                  [&](const DeviceEntry& entry) { return entry.name == name; });
  if (found != std::end(kDevices)) return *found;
  throw Error("unknown device '" + std::string(name) + "' (allowed: " + device_names() + ")", ErrorKind::usage);
}

}  // namespace ridgeline
