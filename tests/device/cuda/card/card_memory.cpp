#include "tests/device/cuda/card/card_memory.h"

#include <algorithm>

#include "ridgeline/core/random.h"

namespace ridgeline::cuda {

CardMemory::CardMemory(Calls& calls, std::size_t bytes) : calls_(calls), bytes_(bytes) {
  calls.make("cuMemAlloc", "a test", &Driver::allocate, &address_, std::max<std::size_t>(bytes, 16));
}

CardMemory::~CardMemory() { calls_.answer("cuMemFree", &Driver::release, address_); }

void CardMemory::upload(const Tensor& tensor, StreamHandle stream) {
  calls_.make("cuMemcpyHtoDAsync", "a test", &Driver::copy_to_device, address_, tensor.raw(), tensor.byte_size(),
              stream);
  calls_.make("cuStreamSynchronize", "a test", &Driver::stream_synchronize, stream);
}

void CardMemory::download(Tensor& tensor, StreamHandle stream) const {
  calls_.make("cuMemcpyDtoHAsync", "a test", &Driver::copy_to_host, tensor.raw(), address_, tensor.byte_size(), stream);
  calls_.make("cuStreamSynchronize", "a test", &Driver::stream_synchronize, stream);
}

void CardMemory::fill(DType type, StreamHandle stream) {
  const std::size_t some = std::min<std::size_t>(bytes_, std::size_t{4} << 20);
  const Tensor block = random_tensor({type, {static_cast<std::int64_t>(some / size_of(type))}}, 7);
  upload(block, stream);
  for (std::size_t filled = block.byte_size(); filled < bytes_;) {
    const std::size_t more = std::min(filled, bytes_ - filled);
    calls_.make("cuMemcpyDtoDAsync", "a test", &Driver::copy_on_device, address_ + filled, address_, more, stream);
    filled += more;
  }
  calls_.make("cuStreamSynchronize", "a test", &Driver::stream_synchronize, stream);
}

Tensor random_tensor(const ValueType& type, std::uint64_t seed, float scale) {
  Tensor tensor(type.dtype, type.shape);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const float value = (static_cast<float>(state >> 40) / 8388608.0f - 1.0f) * scale;
    const auto at = static_cast<std::size_t>(i);
    switch (type.dtype) {
      case DType::bf16: tensor.data<bfloat16>()[at] = to_bfloat16(value); break;
      case DType::f16: tensor.data<float16>()[at] = to_float16(value); break;
      default: tensor.data<float>()[at] = value;
    }
  }
  return tensor;
}

}  // namespace ridgeline::cuda
