// ridgeline/compile/parameter_store.h
//
// The values that live longer than a step: parameters, optimizer slots, statistics and counters, by name. Owned by the
// session; programs borrow the memory. The first program that is compiled over an entry fixes its home layout; entries
// are read and written in the plain layout whatever that is. One thread at a time, never while a program runs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/device/device.h"

namespace ridgeline {

class ParameterStore {
 public:
  struct Entry {
    ValueType type;
    ValueKind kind = ValueKind::param;  // param or state
    Layout home;
    bool home_fixed = false;
    std::unique_ptr<DeviceMemory> memory;
  };

  explicit ParameterStore(Device& device) : device_(device) {}

  // Makes an entry of zeros unless there is one; an existing entry of another type is an Error.
  Entry& declare(const std::string& name, const ValueType& type, ValueKind kind);
  bool contains(const std::string& name) const { return entries_.contains(name); }
  // Writes the logical value; the entry is made if missing. Shape or type that differ are an Error that names both.
  void set(const std::string& name, const Tensor& value, ValueKind kind = ValueKind::param);
  // A copy of the logical value.
  Tensor get(const std::string& name) const;
  const Entry& entry(const std::string& name) const;
  // Fixes the home layout, converting what is stored. Only while it is not fixed.
  void fix_home(const std::string& name, const Layout& layout);
  std::vector<std::string> names() const;
  Device& device() const { return device_; }

 private:
  Device& device_;
  std::map<std::string, Entry> entries_;
};

}  // namespace ridgeline
