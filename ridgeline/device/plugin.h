// ridgeline/device/plugin.h
//
// A device in a library of its own, which is opened when the device is asked for: what needs a vendor's libraries is no
// part of the program. A plug-in has copies of everything of ours that it uses, hidden in it, so that any program can
// open it, whatever that exports and links. So both must be built from the same headers: a plug-in says from which.
// What crosses between them are objects behind virtual functions, values of the standard library, and exceptions, which
// are caught by the names of their types.
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

// The one function that a plug-in shows, under this name.
using DevicePluginFunction = const DevicePlugin* (*)();
inline constexpr const char* kDevicePluginFunction = "ridgeline_device_plugin";

// A hash of the headers of core/, graph/ and device/: made by the build, with kernels_version().
std::string_view contract_version();

// Opens `file` ("libridgeline_cuda.so") once a process: as the environment variable `variable` says (a file, or its
// folder), else beside the program or library that this code is in, else in lib/ beside that folder. An Error names the
// places where it was looked for, or what is wrong with what is there. Any thread.
const DevicePlugin& open_device_plugin(const char* file, const char* variable, std::string_view builds_it);

}  // namespace ridgeline
