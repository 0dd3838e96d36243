// ridgeline/device/cuda/loop/packer.h
//
// The bytes of a text's Parameters, member by member, each at its alignment; without memory they are only counted.
#pragma once

#include <cstring>
#include <span>

#include "ridgeline/device/cuda/driver/launch.h"

namespace ridgeline::cuda {

class Packer {
 public:
  explicit Packer(unsigned char* bytes = nullptr) : bytes_(bytes) {}

  template <class T>
  void put(const T& value) {
    size_ = (size_ + alignof(T) - 1) / alignof(T) * alignof(T);
    if (bytes_ != nullptr) std::memcpy(bytes_ + size_, &value, sizeof(T));
    size_ += sizeof(T);
  }
  void pointer(const void* address, Touch touch, std::size_t bytes) {
    put(address);
    if (bytes_ != nullptr && address != nullptr) {
      members_[count_++] = {static_cast<std::uint32_t>(size_ - sizeof(void*)), touch, bytes};
    }
  }
  std::size_t size() const { return (size_ + 7) / 8 * 8; }
  std::span<const PointerMember> members() const { return {members_, count_}; }

 private:
  unsigned char* bytes_;
  std::size_t size_ = 0, count_ = 0;
  PointerMember members_[kMaxParameterBytes / sizeof(void*)];
};

}  // namespace ridgeline::cuda
