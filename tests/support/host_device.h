// A device with the host's memory, streams and events, to which tests give their own kernels.
#pragma once

#include "ridgeline/device/cpu/cpu_device.h"

namespace ridgeline::testing {

class HostDevice : public Device {
 public:
  HostDevice() = default;
  explicit HostDevice(std::optional<Provider> forced) : host_(forced) {}
  std::string architecture() const override { return host_.architecture(); }
  bool host_memory() const override { return true; }
  std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) override { return host_.allocate(bytes); }
  std::unique_ptr<DeviceMemory> allocate_pinned(std::size_t bytes) override { return host_.allocate_pinned(bytes); }
  std::size_t memory_limit() const override { return host_.memory_limit(); }
  Stream& stream_for(StreamPurpose purpose) override { return host_.stream_for(purpose); }
  std::unique_ptr<Event> make_event() override { return host_.make_event(); }
  std::unique_ptr<Event> make_timed_event() override { return host_.make_timed_event(); }
  std::unique_ptr<Kernel> collective(const CollectiveRequest& request) override { return host_.collective(request); }
  std::unique_ptr<Kernel> conversion(const ValueType& type, const Layout& from, const Layout& to) override {
    return host_.conversion(type, from, to);
  }
  std::unique_ptr<Kernel> cast_conversion(DType from_type, const Layout& from, DType to_type,
                                          const Layout& to) override {
    return host_.cast_conversion(from_type, from, to_type, to);
  }
  FusionLimits fusion_limits() const override { return host_.fusion_limits(); }
  DeviceRates rates() const override { return host_.rates(); }
  MeasuredRates measured_rates() override { return host_.measured_rates(); }

 private:
  CpuDevice host_;
};

}  // namespace ridgeline::testing
