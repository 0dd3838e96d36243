#include "ridgeline/device/cuda/cudnn/target.h"

namespace ridgeline::cuda::cudnn {

Target Target::current_card(const Functions& functions) {
  Target target(functions);
  Handle handle = nullptr;
  functions.check(functions.create(&handle), "cuDNN opens the card");
  target.handle_.reset(handle);
  return target;
}

Target Target::described(const Functions& functions, const std::string& json) {
  Target target(functions);
  Descriptor description(functions, DescriptorType::device_properties);
  description.set(Attribute::device_json, std::span<const char>(json.data(), json.size()));
  description.finalize();
  target.description_.emplace(std::move(description));
  return target;
}

std::string Target::describe(const Functions& functions, int index) {
  Descriptor description(functions, DescriptorType::device_properties);
  const std::int32_t device = index;
  constexpr auto kInt32 = static_cast<AttributeType>(23);
  description.set(Attribute::device_id, kInt32, 1, &device);
  description.finalize();
  const std::vector<char> text = description.get_all<char>(
      Attribute::device_json, description.count(Attribute::device_json, AttributeType::character));
  return std::string(text.begin(), text.end()).c_str();
}

}  // namespace ridgeline::cuda::cudnn
