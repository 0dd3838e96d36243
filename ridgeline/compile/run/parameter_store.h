// ridgeline/compile/run/parameter_store.h
//
// The values that live longer than a step: parameters, optimizer slots, statistics and counters, by name. Owned by the
// session; programs borrow the memory. The first program that is compiled over an entry fixes its home layout, which
// holds as long as a program borrows the entry or until release_home(); entries are read and written in the plain
// layout whatever that is. One thread at a time, never while a program runs.
//
// A derived form is the value on another device, in another layout (a one-way layout among them) or rounded to another
// type. Programs share it:
// it lives as long as one of them wants it, and it is up to date while its version is the entry's.
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
    bool zero = true;           // the value is zeros and the memory not written yet: see fill_zeros()
    std::uint64_t version = 1;  // grows whenever the value is written
    std::vector<std::weak_ptr<DerivedForm>> forms;
    // Programs hold copies: as long as there is one the memory stays where it is, in its layout.
    std::shared_ptr<const void> lease = std::make_shared<char>();
    bool borrowed() const { return lease.use_count() > 1; }
  };

  explicit ParameterStore(Device& device) : device_(device) {}

  // Makes an entry of zeros unless there is one; an existing entry of another type is an Error. Its memory is not
  // touched before a value is written or a program runs: most values are drawn or loaded right after.
  Entry& declare(const std::string& name, const ValueType& type, ValueKind kind);
  bool contains(const std::string& name) const { return entries_.contains(name); }
  // Writes the logical value; the entry is made if missing. Shape or type that differ are an Error that names both.
  // What fails while it is written leaves zeros where there was no value before, else bytes of both.
  void set(const std::string& name, const Tensor& value, ValueKind kind = ValueKind::param);
  // The same with a value that `write` gives: it gets plain rows of undefined contents and writes all of them. They are
  // the store's own memory where the value lies in plain rows of the host, so nothing is copied then.
  void write(const std::string& name, const ValueType& type, ValueKind kind, FunctionRef<void(Tensor&)> write);
  // The same with zeros for a value.
  void set_zeros(const std::string& name, const ValueType& type, ValueKind kind = ValueKind::param);
  // Writes the zeros that are not in memory yet. Programs call it before they run.
  void fill_zeros();
  // A copy of the logical value.
  Tensor get(const std::string& name) const;
  const Entry& entry(const std::string& name) const;
  // For programs, which write the memory themselves and say so by the version.
  Entry& entry(const std::string& name);
  // The form of the entry of this type, on this device, in this layout: the one that another program has, or a new one
  // with memory.
  std::shared_ptr<DerivedForm> derived(const std::string& name, DType dtype, Device& device, const Layout& layout);
  // Fixes the home layout, converting what is stored. Only while it is not fixed.
  void fix_home(const std::string& name, const Layout& layout);
  // The value lies in plain rows again, and the next program chooses its home as the first one did. False, and nothing
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
