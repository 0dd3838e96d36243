#include "ridgeline/device/cuda/cudnn/library.h"

#include "ridgeline/core/error.h"

namespace ridgeline::device::cudnn {
namespace {

template <class Function>
void resolve_into(Function& function, const Library::Resolver& resolve, const char* name) {
  void* const address = resolve(name);
  if (address == nullptr) throw Error(std::string("cuDNN has no function ") + name + ": version 9 is needed");
  function = reinterpret_cast<Function>(address);
}

}  // namespace

Library::Library(const Resolver& resolve) {
  resolve_into(get_version_, resolve, "cudnnGetVersion");
  resolve_into(error_string_, resolve, "cudnnGetErrorString");
  resolve_into(last_error_, resolve, "cudnnGetLastErrorString");
  resolve_into(create, resolve, "cudnnCreate");
  resolve_into(destroy, resolve, "cudnnDestroy");
  resolve_into(set_stream, resolve, "cudnnSetStream");
  resolve_into(create_descriptor, resolve, "cudnnBackendCreateDescriptor");
  resolve_into(destroy_descriptor, resolve, "cudnnBackendDestroyDescriptor");
  resolve_into(finalize, resolve, "cudnnBackendFinalize");
  resolve_into(set_attribute, resolve, "cudnnBackendSetAttribute");
  resolve_into(get_attribute, resolve, "cudnnBackendGetAttribute");
  resolve_into(execute, resolve, "cudnnBackendExecute");
  version_ = static_cast<int>(get_version_());
  if (version_ / 10000 != 9) throw Error("cuDNN is version " + version_text() + ": version 9 is needed");
}

std::string Library::version_text() const {
  if (version_ < 90000) return std::to_string(version_ / 1000) + "." + std::to_string(version_ / 100 % 10);
  return std::to_string(version_ / 10000) + "." + std::to_string(version_ / 100 % 100) + "." +
         std::to_string(version_ % 100);
}

void Library::check(int status, const char* action) const {
  if (status == 0) return;
  char message[2048] = "";
  last_error_(message, sizeof message);
  std::string reason = error_string_(status);
  if (message[0] != '\0') reason += std::string(": ") + message;
  while (!reason.empty() && (reason.back() == '\n' || reason.back() == ' ')) reason.pop_back();
  for (char& c : reason) c = c == '\n' ? ' ' : c;
  throw Failure(std::string(action) + ": " + reason, status);
}

Descriptor::Descriptor(const Library& library, DescriptorType type) : library_(&library), owned_(nullptr, {&library}) {
  RawDescriptor raw = nullptr;
  library.check(library.create_descriptor(type, &raw), "cuDNN makes a descriptor");
  owned_.reset(raw);
}

void Descriptor::set(Attribute attribute, ValueType type, std::int64_t count, const void* values) {
  library_->check(library_->set_attribute(raw(), attribute, type, count, values), "cuDNN sets an attribute");
}

void Descriptor::finalize() { library_->check(library_->finalize(raw()), "cuDNN"); }

std::int64_t Descriptor::get(Attribute attribute, ValueType type, std::int64_t room, void* values) const {
  std::int64_t count = 0;
  library_->check(library_->get_attribute(raw(), attribute, type, room, &count, values), "cuDNN reads an attribute");
  return count < room ? count : room;
}

std::int64_t Descriptor::count(Attribute attribute, ValueType type) const {
  std::int64_t count = 0;
  library_->check(library_->get_attribute(raw(), attribute, type, 0, &count, nullptr), "cuDNN counts an attribute");
  return count;
}

std::vector<Descriptor> Descriptor::get_descriptors(Attribute attribute, DescriptorType type,
                                                    std::int64_t room) const {
  std::vector<Descriptor> descriptors;
  std::vector<RawDescriptor> raws;
  for (std::int64_t left = room < 0 ? count(attribute, ValueType::descriptor) : room; left > 0; --left) {
    raws.push_back(descriptors.emplace_back(*library_, type).raw());
  }
  if (raws.empty()) return descriptors;
  const std::int64_t found =
      get(attribute, ValueType::descriptor, static_cast<std::int64_t>(raws.size()), raws.data());
  descriptors.erase(descriptors.begin() + found, descriptors.end());
  return descriptors;
}

}  // namespace ridgeline::device::cudnn
