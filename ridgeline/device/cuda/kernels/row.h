// ridgeline/device/cuda/kernels/row.h
//
// The rows of the kernel table and how a kernel is launched. A family of kernels is three files: name.h with the bodies
// and a list `RIDGELINE_<FAMILY>_KERNELS(K)` of K(symbol, Body) rows, name.cu, which makes device code from the list,
// and name.cpp, which has the table's rows and the functions that fill in parameters. A launch is given to a
// LaunchSink: a stream, or the host version (run_on_host). Nothing here needs NVIDIA's headers. Any thread.
#pragma once

#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "ridgeline/core/function_ref.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/cuda/kernels/pointers.h"

namespace ridgeline::cuda {

struct KernelRow {
  std::string_view symbol;  // of the device code, and the kernel's name in reports
  std::size_t parameter_bytes;
  u32 threads;  // of a block
  void (*host)(const void* parameters, Blocks blocks);
};

// Valid during the call that it is given to.
struct KernelLaunch {
  const KernelRow& kernel;
  Blocks blocks;
  const void* parameters;  // kernel.parameter_bytes, the only argument of the kernel
  std::span<const PointerMember> pointers;
};
using LaunchSink = FunctionRef<void(const KernelLaunch&)>;

// All rows, in the order of their families.
std::span<const KernelRow* const> kernel_rows();

// Runs a launch on the calling thread, with the bits of the card. Shared memory starts with noise.
struct RunOnHost {
  void operator()(const KernelLaunch& launch) const { launch.kernel.host(launch.parameters, launch.blocks); }
};
inline constexpr RunOnHost run_on_host;

template <class Body>
struct SymbolOf;  // specialised by RIDGELINE_SYMBOL

template <class Body>
void host_version(const void* parameters, Blocks blocks) {
  const FlushDenormals flush;
  const auto& p = *static_cast<const typename Body::Parameters*>(parameters);
  for (u32 z = 0; z < blocks.z; ++z) {
    for (u32 y = 0; y < blocks.y; ++y) {
      for (u32 x = 0; x < blocks.x; ++x) {
        typename Body::Shared shared;
        std::memset(static_cast<void*>(&shared), 0xa5, sizeof(shared));
        HostBlock<Body::kThreads> block(x, y, z);
        Body::run(block, p, shared);
      }
    }
  }
}

template <class Body>
inline constexpr KernelRow kRow{SymbolOf<Body>::value, sizeof(typename Body::Parameters),
                                static_cast<u32>(Body::kThreads), &host_version<Body>};

template <class Body>
void give(LaunchSink sink, const typename Body::Parameters& parameters) {
  static_assert(std::is_trivially_copyable_v<typename Body::Parameters> &&
                sizeof(typename Body::Parameters) <= kMaxParameterBytes);
  // g++ 12 also clears members if one of them is aligned to 16.
  static_assert(alignof(typename Body::Parameters) <= 8);
  const Blocks blocks = Body::blocks(parameters);
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return;  // nothing to do
  auto whole = parameters;
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(&whole);  // stack contents may look like an address (driver/recording.h)
#endif
  PointerList pointers(&whole);
  Body::pointers(whole, pointers);
  sink(KernelLaunch{kRow<Body>, blocks, &whole, pointers.members()});
}

// For a list of kernels, at namespace scope, and for the array of their rows.
#define RIDGELINE_SYMBOL(symbol, ...)                  \
  template <>                                          \
  struct SymbolOf<__VA_ARGS__> {                       \
    static constexpr std::string_view value = #symbol; \
  };
#define RIDGELINE_ROW(symbol, ...) &kRow<__VA_ARGS__>,

}  // namespace ridgeline::cuda
