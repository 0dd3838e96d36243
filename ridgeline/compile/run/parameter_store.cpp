#include "ridgeline/compile/run/parameter_store.h"

#include <cstring>
#include <optional>

#include "ridgeline/core/threads.h"

namespace ridgeline {
namespace {

// Moves bytes between host and device memory and waits.
void write_device(Device& device, DeviceMemory& memory, const void* host, std::size_t bytes) {
  device.stream().copy_from_host(memory.address(), host, bytes);
  device.stream().synchronize();
}

std::vector<std::byte> read_device(Device& device, DeviceMemory& memory, std::size_t bytes) {
  std::vector<std::byte> host(bytes);
  device.stream().copy_to_host(host.data(), memory.address(), bytes);
  device.stream().synchronize();
  return host;
}

// By the whole team, which then touches fresh pages in parallel.
template <class F>
void in_parts(std::size_t bytes, F&& part) {
  parallel_for(static_cast<std::int64_t>(bytes), std::int64_t{1} << 21, [&](std::int64_t begin, std::int64_t end) {
    part(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  });
}

void write_zeros(Device& device, DeviceMemory& memory, std::size_t bytes) {
  device.stream().clear(memory.address(), bytes);
  device.stream().synchronize();
}

}  // namespace

ParameterStore::Entry& ParameterStore::declare(const std::string& name, const ValueType& type, ValueKind kind) {
  const auto [it, made] = entries_.try_emplace(name);
  Entry& entry = it->second;
  if (!made) {
    if (entry.type != type) {
      throw Error("parameter " + name + " is " + entry.type.to_string() + " in the session, but " + type.to_string() +
                  " in the graph");
    }
    return entry;
  }
  entry.type = type;
  entry.kind = kind;
  entry.memory = device_.allocate(type.bytes());
  ++zeros_;
  return entry;
}

// An entry counts as written when its bytes are. Where `write` fails the memory has no valid value: zeros that were not
// in memory yet are written now, and forms are remade.
template <class Write>
void ParameterStore::write_bytes(Entry& entry, Write&& write) {
  try {
    write();
  } catch (...) {
    ++entry.version;
    if (entry.zero) write_zeros(device_, *entry.memory, entry.home.bytes(entry.type));
    throw;
  }
  if (entry.zero) --zeros_;
  entry.zero = false;
  ++entry.version;
}

void ParameterStore::set(const std::string& name, const Tensor& value, ValueKind kind) {
  Entry& entry = declare(name, {value.dtype(), value.shape()}, kind);
  write_bytes(entry, [&] { write_value(entry, value); });
}

void ParameterStore::write_value(Entry& entry, const Tensor& value) {
  const BlockedLayout* blocked = entry.home.blocked();
  if (device_.host_memory()) {
    char* to = static_cast<char*>(entry.memory->address());
    const char* from = static_cast<const char*>(value.raw());
    if (blocked != nullptr)
      blocked->from_plain(from, to);
    else
      in_parts(value.byte_size(), [&](std::size_t at, std::size_t size) { std::memcpy(to + at, from + at, size); });
  } else if (blocked != nullptr) {
    std::vector<std::byte> bytes(blocked->bytes());
    blocked->from_plain(value.raw(), bytes.data());
    write_device(device_, *entry.memory, bytes.data(), bytes.size());
  } else {
    write_device(device_, *entry.memory, value.raw(), value.byte_size());
  }
}

void ParameterStore::write(const std::string& name, const ValueType& type, ValueKind kind,
                           FunctionRef<void(Tensor&)> write) {
  Entry& entry = declare(name, type, kind);
  if (device_.host_memory() && entry.home.plain()) {
    write_bytes(entry, [&] {
      Tensor value = Tensor::view(entry.memory->address(), type.dtype, type.shape);
      write(value);
    });
    return;
  }
  std::unique_ptr<DeviceMemory> rows;  // on large pages, which the device's memory has
  if (device_.host_memory()) rows = device_.allocate(type.bytes());
  Tensor value = rows ? Tensor::view(rows->address(), type.dtype, type.shape) : Tensor(type.dtype, type.shape);
  write(value);
  set(name, value, kind);
}

void ParameterStore::set_zeros(const std::string& name, const ValueType& type, ValueKind kind) {
  Entry& entry = declare(name, type, kind);
  if (entry.zero) return;
  write_bytes(entry, [&] { write_zeros(device_, *entry.memory, entry.home.bytes(type)); });
}

void ParameterStore::fill_zeros() {
  if (zeros_ == 0) return;
  for (auto& [name, entry] : entries_) {
    if (entry.zero && !entry.memory->starts_as_zeros())
      write_zeros(device_, *entry.memory, entry.home.bytes(entry.type));
    entry.zero = false;
  }
  zeros_ = 0;
}

Tensor ParameterStore::get(const std::string& name) const {
  const Entry& e = entry(name);
  if (e.zero) return Tensor::zeros(e.type.dtype, e.type.shape);
  Tensor value(e.type.dtype, e.type.shape);
  const std::vector<std::byte> raw = read_device(device_, *e.memory, e.home.bytes(e.type));
  if (e.home.plain())
    std::memcpy(value.raw(), raw.data(), raw.size());
  else
    e.home.blocked()->to_plain(raw.data(), value.raw());
  return value;
}

const ParameterStore::Entry& ParameterStore::entry(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) {
    throw Error("no parameter named " + name + did_you_mean(name, names()));
  }
  return it->second;
}

ParameterStore::Entry& ParameterStore::entry(const std::string& name) {
  return const_cast<Entry&>(static_cast<const ParameterStore*>(this)->entry(name));
}

std::shared_ptr<DerivedForm> ParameterStore::derived(const std::string& name, DType dtype, Device& device,
                                                     const Layout& layout) {
  Entry& e = entry(name);
  std::erase_if(e.forms, [](const std::weak_ptr<DerivedForm>& form) { return form.expired(); });
  for (const std::weak_ptr<DerivedForm>& known : e.forms) {
    std::shared_ptr<DerivedForm> form = known.lock();
    if (form->dtype == dtype && form->device == &device && form->layout == layout) return form;
  }
  auto form = std::make_shared<DerivedForm>();
  form->dtype = dtype;
  form->device = &device;
  form->layout = layout;
  form->memory = device.allocate(layout.bytes({dtype, e.type.shape}));
  e.forms.push_back(form);
  return form;
}

void ParameterStore::fix_home(const std::string& name, const Layout& layout) {
  Entry& e = entries_.at(name);
  RIDGELINE_CHECK(!e.home_fixed, "the home layout of " + name + " is fixed");
  RIDGELINE_CHECK(!layout.one_way(), "a one-way layout is no home for " + name);
  if (!layout.plain()) {
    std::optional<Tensor> value;  // zeros are zeros in every layout that is a home
    if (!e.zero) value = get(name);
    e.home = layout;
    e.memory = device_.allocate(layout.bytes(e.type));
    if (value) set(name, *value, e.kind);
  }
  e.home_fixed = true;
}

bool ParameterStore::release_home(const std::string& name) {
  Entry& e = entry(name);
  if (e.borrowed()) return false;
  e.home_fixed = false;
  if (e.home.plain()) return true;
  std::optional<Tensor> value;
  if (!e.zero) value = get(name);
  e.home = Layout();
  e.memory = device_.allocate(e.type.bytes());
  if (value) set(name, *value, e.kind);
  return true;
}

std::vector<std::string> ParameterStore::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

}  // namespace ridgeline
