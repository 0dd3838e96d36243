// ridgeline/device/cuda/kernels/pointers.h
//
// Which members of a kernel's parameters are addresses, and what the kernel reads and writes there: each body says so
// in pointers(p, list). Collected for one launch, on the stack.
#pragma once

#include <span>

#include "ridgeline/device/cuda/driver/launch.h"
#include "ridgeline/device/cuda/kernels/block.h"

namespace ridgeline::cuda {

class PointerList {
 public:
  explicit PointerList(const void* parameters) : base_(static_cast<const unsigned char*>(parameters)) {}

  // `member` is a member of the parameters; null ones are left out.
  template <class T>
  void reads(T* const& member, i64 elements) {
    add(&member, member, Touch::reads, static_cast<std::size_t>(elements) * sizeof(T));
  }
  template <class T>
  void writes(T* const& member, i64 elements) {
    add(&member, member, Touch::writes, static_cast<std::size_t>(elements) * sizeof(T));
  }
  std::span<const PointerMember> members() const { return {members_, count_}; }

 private:
  static constexpr std::size_t kMost = kMaxParameterBytes / sizeof(void*);

  void add(const void* member, const void* address, Touch touch, std::size_t bytes) {
    if (address == nullptr) return;
    const auto offset = static_cast<const unsigned char*>(member) - base_;
    members_[count_++] = {static_cast<std::uint32_t>(offset), touch, bytes};
  }

  const unsigned char* base_;
  std::size_t count_ = 0;
  PointerMember members_[kMost];
};

}  // namespace ridgeline::cuda
