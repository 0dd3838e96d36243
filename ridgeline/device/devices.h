// ridgeline/device/devices.h
//
// The devices that programs can be placed on, by name. One table; each makes a device of its kind, which the caller
// owns.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ridgeline/device/simulated/simulated_device.h"

namespace ridgeline {

struct DeviceOptions {
  KernelPromise promise;
  SimulatedDeviceOptions simulated;
};

struct DeviceEntry {
  std::string_view name;
  std::string_view doc;
  std::unique_ptr<Device> (*make)(const DeviceOptions& options);
};

std::span<const DeviceEntry> devices();
// "cpu, simulated, ...", for messages and help.
std::string device_names();
// The entry of that name; an unknown one is an Error (usage) with those that there are.
const DeviceEntry& device_named(std::string_view name);

}  // namespace ridgeline
