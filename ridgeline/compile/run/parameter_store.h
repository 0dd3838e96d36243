// ridgeline/compile/run/parameter_store.h
//
// The values that live longer than a step: parameters, optimizer slots, statistics and counters, by name. Owned by the
// session; programs borrow the memory. The first program that is compiled with an entry fixes its home layout, which
// stays as long as a program borrows the entry or until release_home(); whatever it is, entries are read and written in
// the plain layout. One thread at a time, never while a program runs.
//
// A derived form is the value on another device, in another layout (a one-way layout among them) or rounded to another
// type. Programs share it: it lives as long as one of them needs it, and it is up to date while its version is the
// entry's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/core/function_ref.h"
#include "ridgeline/core/tensor.h"
#include "ridgeline/device/device.h"

namespace ridgeline {

struct DerivedForm {
  DType dtype = DType::f32;
  Device* device = nullptr;
  Layout layout;
  std::unique_ptr<DeviceMemory> memory;
  std::uint64_t version = 0;  // the entry's when the form was made; 0: never
};

class ParameterStore {
 public:
  struct Entry {
    ValueType type;
    ValueKind kind = ValueKind::param;  // param or state
    Layout home;
    bool home_fixed = false;
    std::unique_ptr<DeviceMemory> memory;
    bool zero = true;           // the value is zero, but the memory is not written yet: see fill_zeros()
    std::uint64_t version = 1;  // grows whenever the value is written
    std::vector<std::weak_ptr<DerivedForm>> forms;
    // Programs hold copies: as long as one exists, the memory keeps its address and layout.
    std::shared_ptr<const void> lease = std::make_shared<char>();
    bool borrowed() const { return lease.use_count() > 1; }
  };

  explicit ParameterStore(Device& device) : device_(device) {}

  // Makes an entry of zeros unless there is one; an existing entry of another type is an Error. Its memory is not
  // touched before a value is written or a program runs: most values are drawn or loaded right after.
  Entry& declare(const std::string& name, const ValueType& type, ValueKind kind);
  bool contains(const std::string& name) const { return entries_.contains(name); }
  // Writes the logical value; the entry is made if missing. Shape or type that differ are an Error that names both.
  // A failure while writing leaves zeros if there was no value before, else bytes of the old and the new one.
  void set(const std::string& name, const Tensor& value, ValueKind kind = ValueKind::param);
  // The same with a value that `write` produces: it gets plain rows of undefined contents and writes all of them. If
  // the entry is in plain rows on the host, these are the store's own memory, so nothing is copied.
  void write(const std::string& name, const ValueType& type, ValueKind kind, FunctionRef<void(Tensor&)> write);
  // The same with the value zero.
  void set_zeros(const std::string& name, const ValueType& type, ValueKind kind = ValueKind::param);
  // Writes zeros that are not in memory yet. Programs call it before they run.
  void fill_zeros();
  // A copy of the logical value.
  Tensor get(const std::string& name) const;
  const Entry& entry(const std::string& name) const;
  // For programs, which write the memory themselves and then increase the version.
  Entry& entry(const std::string& name);
  // The entry's derived form of this type, on this device, in this layout: that of another program, or a new one with
  // memory.
  std::shared_ptr<DerivedForm> derived(const std::string& name, DType dtype, Device& device, const Layout& layout);
  // Fixes the home layout, converting what is stored. Only if it is not fixed yet.
  void fix_home(const std::string& name, const Layout& layout);
  // Brings the value back to plain rows; the next program chooses its home as the first one did. False, and nothing
  // changes, while a program borrows the entry.
  bool release_home(const std::string& name);
  std::vector<std::string> names() const;
  Device& device() const { return device_; }

 private:
  template <class Write>
  void write_bytes(Entry& entry, Write&& write);
  void write_value(Entry& entry, const Tensor& value);

  Device& device_;
  std::size_t zeros_ = 0;  // entries whose zeros are not in memory yet
  std::map<std::string, Entry> entries_;
};

}  // namespace ridgeline
