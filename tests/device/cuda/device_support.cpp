#include "tests/device/cuda/device_support.h"

#include <set>

namespace ridgeline::cuda::testing {

void add_recording_device(std::string_view name, const ExchangeOptions& exchanges) {
  static std::set<std::string_view> added;
  if (!added.insert(name).second) return;
  add_device({.name = name,
              .doc = "a card of the recording driver",
              .make = [name, exchanges](const DeviceOptions& options) -> std::unique_ptr<Device> {
                auto calls = start_driver(RecordingDriver::make({.kernels = host_kernels()}));
                return std::make_unique<CudaDevice>(std::make_shared<Context>(calls, 0),
                                                    CudaDeviceOptions{.name = std::string(name),
                                                                      .promise = options.promise,
                                                                      .images = kAnyImages,
                                                                      .exchanges = exchanges});
              }});
}

RecordingCounts counts_of(Device& device) {
  return static_cast<RecordingDriver&>(static_cast<CudaDevice&>(device).context().driver()).counts();
}

}  // namespace ridgeline::cuda::testing
