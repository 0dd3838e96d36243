#include "ridgeline/compile/parameter_store.h"

#include <cstring>

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
  const Tensor zeros = Tensor::zeros(type.dtype, type.shape);
  write_device(device_, *entry.memory, zeros.raw(), type.bytes());
  return entry;
}

void ParameterStore::set(const std::string& name, const Tensor& value, ValueKind kind) {
  Entry& entry = declare(name, {value.dtype(), value.shape()}, kind);
  ++entry.version;
  if (entry.home.plain()) {
    write_device(device_, *entry.memory, value.raw(), value.byte_size());
    return;
  }
  std::vector<std::byte> blocked(entry.home.blocked()->bytes());
  entry.home.blocked()->from_plain(value.raw(), blocked.data());
  write_device(device_, *entry.memory, blocked.data(), blocked.size());
}

Tensor ParameterStore::get(const std::string& name) const {
  const Entry& e = entry(name);
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
    const Tensor value = get(name);
    e.home = layout;
    e.memory = device_.allocate(layout.bytes(e.type));
    set(name, value, e.kind);
  }
  e.home_fixed = true;
}

std::vector<std::string> ParameterStore::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

}  // namespace ridgeline
