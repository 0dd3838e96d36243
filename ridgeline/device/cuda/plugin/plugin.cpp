#include "ridgeline/device/plugin.h"

#include "ridgeline/device/cuda/make_device.h"

namespace {

std::unique_ptr<ridgeline::Device> make(const ridgeline::DeviceOptions& options) {
  return ridgeline::cuda::make_device(options, ridgeline::cuda::kernel_images());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const ridgeline::DevicePlugin* ridgeline_device_plugin() {
  static const ridgeline::DevicePlugin plugin = {ridgeline::contract_version().data(), make,
                                                 ridgeline::cuda::describe_cards};
  return &plugin;
}
