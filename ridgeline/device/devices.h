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
  std::string_view name;  // of the kind, in memory that stays
  std::string_view doc;
  // An Error where there is none, or none of that ordinal, with the reason.
  std::function<std::unique_ptr<Device>(const DeviceOptions& options)> make;
  bool numbered = false;  // there may be several, which ordinals tell apart
  // What fp32_compute may be beside "f32" (KernelPromise), in memory that stays.
  std::vector<std::string_view> fp32_computes = {};
  // What there is of it on this machine, a line for people; an Error where there is none, with the reason. Null: doc.
  std::function<std::string()> describe = {};
  // Whether it multiplies bf16 faster than f32; null: no.
  std::function<bool()> fast_bf16 = {};
};

// In the order in which they were added. Entries stay where they are.
std::vector<const DeviceEntry*> devices();
// Before the threads that ask for it; a name that is there already is a failed check.
void add_device(DeviceEntry entry);
// "cpu, simulated, ...", for messages and help.
std::string device_names();

struct NamedDevice {
  const DeviceEntry* entry;
  int ordinal;
  std::unique_ptr<Device> make(DeviceOptions options = {}) const;
};
// KIND or KIND:ORDINAL; an Error (usage) with those that there are for another kind, and for an ordinal that is none or
// of a kind that has none.
NamedDevice device_named(std::string_view name);

}  // namespace ridgeline
