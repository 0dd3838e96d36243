// ridgeline/device/devices.h
//
// The devices that programs can be placed on, by name: "cpu", "cuda", "cuda:1". One table, to which plug-ins and tests
// add; each entry makes a device of its kind, which the caller owns.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/device/simulated/simulated_device.h"

namespace ridgeline {

struct DeviceOptions {
  KernelPromise promise;
  int ordinal = 0;   // which one of its kind
  std::string tune;  // the file of kernel times, as SessionOptions::tune; empty: kernels by the order of their lists
  SimulatedDeviceOptions simulated;
};

struct DeviceEntry {
  std::string_view name;  // of the kind; the memory must stay valid
  std::string_view doc;
  // Makes one; an Error with the reason if there is none, or none of that ordinal.
  std::function<std::unique_ptr<Device>(const DeviceOptions& options)> make;
  bool numbered = false;  // there may be several, distinguished by ordinals
  // Values of fp32_compute other than "f32" (KernelPromise); the memory must stay valid.
  std::vector<std::string_view> fp32_computes = {};
  // A line for people about the devices of this kind on this machine; an Error with the reason if there is none. Null:
  // doc.
  std::function<std::string()> describe = {};
  // Whether it multiplies bf16 faster than f32; null: no.
  std::function<bool()> fast_bf16 = {};
};

// In the order in which they were added. Entries keep their addresses.
std::vector<const DeviceEntry*> devices();
// Call before other threads look devices up; a name that exists already is a failed check.
void add_device(DeviceEntry entry);
// "cpu, simulated, ...", for messages and help.
std::string device_names();

struct NamedDevice {
  const DeviceEntry* entry;
  int ordinal;
  std::unique_ptr<Device> make(DeviceOptions options = {}) const;
};
// KIND or KIND:ORDINAL; an Error (usage) for an unknown kind, with the known ones, and for an ordinal that is invalid
// or of a kind without ordinals.
NamedDevice device_named(std::string_view name);

}  // namespace ridgeline
