// ridgeline/device/plugin.h
//
// A device in a separate library, which is opened when the device is requested: code that needs a vendor's libraries is
// not in the program itself. A plug-in contains hidden copies of all our code that it uses, so that any program can
// open it, whatever that exports and links. So both must be built from the same headers: a plug-in says from which.
// Only objects with virtual functions, values of the standard library, and exceptions, which are caught by the names of
// their types, cross between them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ridgeline/device/devices.h"

namespace ridgeline {

struct DevicePlugin {
  const char* contract;  // contract_version() of the plug-in
  // As in a DeviceEntry.
  std::unique_ptr<Device> (*make)(const DeviceOptions& options);
  std::string (*describe)();
};

// The only function that a plug-in exports, under this name.
using DevicePluginFunction = const DevicePlugin* (*)();
inline constexpr const char* kDevicePluginFunction = "ridgeline_device_plugin";

// A hash of the headers of core/, graph/ and device/: made by the build, with kernels_version().
std::string_view contract_version();

// Opens `file` ("libridgeline_cuda.so") once per process: from the environment variable `variable` (a file, or its
// folder), else in the folder of the program or library that contains this code, else in lib/ next to that folder. An
// Error names the searched places, or what is wrong with the file. Any thread.
const DevicePlugin& open_device_plugin(const char* file, const char* variable, std::string_view builds_it);

}  // namespace ridgeline
