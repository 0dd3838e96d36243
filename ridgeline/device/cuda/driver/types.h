// ridgeline/device/cuda/driver/types.h
//
// The few types and constants of the CUDA driver that we need, as its headers declare them, so that everything but the
// kernels and the library calls builds without a toolkit. Handles are the same types as in cuda.h: sources that include
// NVIDIA's headers pass them on as they are.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;

namespace ridgeline::cuda {

using Result = int;                        // CUresult; 0 is success
using DeviceOrdinal = int;                 // CUdevice
using DeviceAddress = unsigned long long;  // CUdeviceptr
using ContextHandle = CUctx_st*;
using ModuleHandle = CUmod_st*;
using FunctionHandle = CUfunc_st*;
using StreamHandle = CUstream_st*;
using EventHandle = CUevent_st*;
using GraphHandle = CUgraph_st*;
using GraphExecHandle = CUgraphExec_st*;

// Of memory that devices and kernels know by a pointer, which the host does not read.
inline DeviceAddress device_address(const void* address) { return reinterpret_cast<DeviceAddress>(address); }

// CUresult: those that we return or distinguish.
namespace result {
inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNotInitialized = 3;
inline constexpr Result kStubLibrary = 34;
inline constexpr Result kNoDevice = 100;
inline constexpr Result kInvalidDevice = 101;
inline constexpr Result kInvalidImage = 200;
inline constexpr Result kInvalidContext = 201;
inline constexpr Result kNoBinaryForGpu = 209;
inline constexpr Result kUnsupportedPtxVersion = 222;
inline constexpr Result kInvalidHandle = 400;
inline constexpr Result kNotFound = 500;
inline constexpr Result kNotReady = 600;
inline constexpr Result kIllegalAddress = 700;
inline constexpr Result kLaunchOutOfResources = 701;
inline constexpr Result kContextIsDestroyed = 709;
inline constexpr Result kLaunchFailed = 719;
inline constexpr Result kNotPermitted = 800;
inline constexpr Result kNotSupported = 801;
inline constexpr Result kSystemDriverMismatch = 803;
inline constexpr Result kCaptureUnsupported = 900;
inline constexpr Result kCaptureInvalidated = 901;
inline constexpr Result kCaptureUnjoined = 904;
inline constexpr Result kCaptureIsolation = 905;
inline constexpr Result kUnknown = 999;
}  // namespace result

// CUdevice_attribute
enum class Attribute : int {
  max_threads_per_block = 1,
  max_shared_memory_per_block = 8,
  warp_size = 10,
  max_registers_per_block = 12,
  clock_rate = 13,  // kHz
  multiprocessors = 16,
  integrated = 18,
  compute_mode = 20,
  memory_clock_rate = 36,  // kHz
  memory_bus_width = 37,   // bits
  l2_cache_bytes = 38,
  max_threads_per_multiprocessor = 39,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_multiprocessor = 81,
  max_shared_memory_per_block_optin = 97,
};

// CUfunction_attribute
enum class FunctionAttribute : int {
  max_threads_per_block = 0,
  shared_bytes = 1,
  local_bytes = 3,
  registers = 4,
  max_dynamic_shared_bytes = 8,
};

struct Extent3 {
  unsigned x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

}  // namespace ridgeline::cuda
