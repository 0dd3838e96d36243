#include "tests/device/cuda/device_support.h"

#include <gtest/gtest.h>

namespace ridgeline::cuda::testing {

void add_recording_device() {
  static const bool added = [] {
    add_device({.name = "cuda_recording",
                .doc = "a card of the recording driver",
                .make = [](const DeviceOptions& options) -> std::unique_ptr<Device> {
                  auto calls = start_driver(RecordingDriver::make({.kernels = host_kernels()}));
                  return std::make_unique<CudaDevice>(
                      std::make_shared<Context>(calls, 0),
                      CudaDeviceOptions{.name = "cuda_recording", .promise = options.promise, .images = kAnyImages});
                }});
    return true;
  }();
  EXPECT_TRUE(added);
}

RecordingCounts counts_of(Device& device) {
  return static_cast<RecordingDriver&>(static_cast<CudaDevice&>(device).context().driver()).counts();
}

}  // namespace ridgeline::cuda::testing
