#include "ridgeline/device/cuda/cudnn/descriptor.h"

namespace ridgeline::cuda::cudnn {

Descriptor::Descriptor(const Functions& functions, DescriptorType type)
    : functions_(&functions), owned_(nullptr, {&functions}) {
  RawDescriptor raw = nullptr;
  functions.check(functions.create_descriptor(type, &raw), "cuDNN makes a descriptor");
  owned_.reset(raw);
}

void Descriptor::set(Attribute attribute, AttributeType type, std::int64_t count, const void* values) {
  functions_->check(functions_->set_attribute(raw(), attribute, type, count, values), "cuDNN sets an attribute");
}

void Descriptor::finalize() { functions_->check(functions_->finalize(raw()), "cuDNN"); }

std::int64_t Descriptor::get(Attribute attribute, AttributeType type, std::int64_t room, void* values) const {
  std::int64_t count = 0;
  functions_->check(functions_->get_attribute(raw(), attribute, type, room, &count, values),
                    "cuDNN reads an attribute");
  return count < room ? count : room;
}

std::int64_t Descriptor::count(Attribute attribute, AttributeType type) const {
  std::int64_t count = 0;
  functions_->check(functions_->get_attribute(raw(), attribute, type, 0, &count, nullptr), "cuDNN counts an attribute");
  return count;
}

std::vector<Descriptor> Descriptor::get_descriptors(Attribute attribute, DescriptorType type, std::int64_t room) const {
  std::vector<Descriptor> descriptors;
  std::vector<RawDescriptor> raws;
  for (std::int64_t left = room < 0 ? count(attribute, AttributeType::descriptor) : room; left > 0; --left) {
    raws.push_back(descriptors.emplace_back(*functions_, type).raw());
  }
  if (raws.empty()) return descriptors;
  const std::int64_t found =
      get(attribute, AttributeType::descriptor, static_cast<std::int64_t>(raws.size()), raws.data());
  descriptors.erase(descriptors.begin() + found, descriptors.end());
  return descriptors;
}

}  // namespace ridgeline::cuda::cudnn
