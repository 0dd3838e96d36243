#include "ridgeline/device/cuda/cudnn/target.h"

namespace ridgeline::device::cudnn {

Target Target::current_card(const Library& library) {
  Target target(library);
  Handle handle = nullptr;
  library.check(library.create(&handle), "cuDNN opens the card");
  target.handle_.reset(handle);
  return target;
}

Target Target::described(const Library& library, const std::string& json) {
  Target target(library);
  Descriptor description(library, DescriptorType::device_properties);
  description.set(Attribute::device_json, std::span<const char>(json.data(), json.size()));
  description.finalize();
  target.description_.emplace(std::move(description));
  return target;
}

std::string Target::describe(const Library& library, int index) {
  Descriptor description(library, DescriptorType::device_properties);
  const std::int32_t device = index;
  constexpr auto kInt32 = static_cast<ValueType>(23);
  description.set(Attribute::device_id, kInt32, 1, &device);
  description.finalize();
  const std::vector<char> text = description.get_all<char>(
      Attribute::device_json, description.count(Attribute::device_json, ValueType::character));
  return std::string(text.begin(), text.end()).c_str();
}

}  // namespace ridgeline::device::cudnn
