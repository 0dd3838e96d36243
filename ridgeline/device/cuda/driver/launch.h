// ridgeline/device/cuda/driver/launch.h
//
// A launch of a kernel. A kernel has one parameter, a struct that it takes by value (at most 4,000 bytes); separately
// given are which of its members are device addresses, and how many bytes there the kernel reads or writes: the
// recording driver translates and checks exactly those. A real driver uses only the bytes of the struct.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ridgeline/device/cuda/driver/types.h"

namespace ridgeline::cuda {

enum class Touch : std::uint8_t { reads, writes, updates };

// A member of a parameter struct that holds a device address, or null.
struct PointerMember {
  std::uint32_t offset;
  Touch touch;
  std::size_t bytes;
};

// Bytes of device memory that a node of a captured graph touches.
struct TouchedRange {
  DeviceAddress address;
  std::size_t bytes;
  Touch touch;
};

struct Launch {
  std::string_view name;  // for messages: the kernel's, or the op's and the kernel's
  FunctionHandle function = nullptr;
  Extent3 grid;
  Extent3 block;
  unsigned shared_bytes = 0;  // dynamic shared memory
  const void* parameters = nullptr;
  std::size_t parameter_bytes = 0;
  std::span<const PointerMember> pointers;
};

inline constexpr std::size_t kMaxParameterBytes = 4000;

// The offset of a member: member_offset(&AxpyParameters::x).
template <class Parameters, class T>
std::uint32_t member_offset(T Parameters::*member) {
  static_assert(std::is_trivially_copyable_v<Parameters> && sizeof(Parameters) <= kMaxParameterBytes);
  alignas(Parameters) static const unsigned char storage[sizeof(Parameters)] = {};
  const auto& parameters = reinterpret_cast<const Parameters&>(storage);
  return static_cast<std::uint32_t>(reinterpret_cast<const unsigned char*>(&(parameters.*member)) - storage);
}

// The members of a parameter struct that are addresses: reads(&P::x, bytes).
template <class Parameters, class T>
PointerMember reads(T* Parameters::*member, std::size_t bytes) {
  return {member_offset(member), Touch::reads, bytes};
}
template <class Parameters, class T>
PointerMember writes(T* Parameters::*member, std::size_t bytes) {
  return {member_offset(member), Touch::writes, bytes};
}
template <class Parameters, class T>
PointerMember updates(T* Parameters::*member, std::size_t bytes) {
  return {member_offset(member), Touch::updates, bytes};
}

}  // namespace ridgeline::cuda
