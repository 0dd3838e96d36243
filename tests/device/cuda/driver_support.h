// tests/device/cuda/driver_support.h
//
// A recording driver with the kernel self_test, and what the tests of the driver give to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ridgeline/device/cuda/driver/memory.h"
#include "ridgeline/device/cuda/driver/modules.h"
#include "ridgeline/device/cuda/driver/recording.h"
#include "ridgeline/device/cuda/driver/streams.h"
#include "ridgeline/device/cuda/kernels/host_kernels.h"
#include "ridgeline/device/cuda/kernels/self_test.h"

namespace ridgeline::cuda::testing {

inline constexpr unsigned char kAnyImage[] = {1};
inline constexpr KernelImage kAnyImages[] = {{"host", kAnyImage}};

// A card of the recording driver.
struct RecordingCard {
  explicit RecordingCard(RecordingOptions options = {}, Calls::Fault fault = {}) {
    options.kernels = host_kernels();
    std::unique_ptr<RecordingDriver> made = RecordingDriver::make(std::move(options));
    driver = made.get();
    calls = start_driver(std::move(made), std::move(fault));
    context = std::make_shared<Context>(calls, 0);
  }
  RecordingDriver* driver;
  std::shared_ptr<Calls> calls;
  std::shared_ptr<Context> context;
};

// y += a * x over `count` floats at these addresses.
inline void launch_self_test(CudaStream& stream, FunctionHandle function, DeviceAddress x, DeviceAddress y, float a,
                             int count, std::string_view name = "self_test") {
  SelfTestParameters parameters{reinterpret_cast<const float*>(x), reinterpret_cast<float*>(y), a, count};
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
  const PointerMember pointers[] = {reads(&SelfTestParameters::x, bytes), updates(&SelfTestParameters::y, bytes)};
  stream.launch({.name = name,
                 .function = function,
                 .grid = {static_cast<unsigned>((count + 127) / 128)},
                 .block = {128},
                 .parameters = &parameters,
                 .parameter_bytes = sizeof parameters,
                 .pointers = pointers});
}

// The message of the Error that `body` ends with; empty: none.
template <class Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace ridgeline::cuda::testing
