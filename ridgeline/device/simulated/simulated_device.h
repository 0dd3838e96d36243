// ridgeline/device/simulated/simulated_device.h
//
// A device for tests, as strict as a real accelerator. Its addresses are reserved ranges that the host cannot touch
// (the bytes are kept elsewhere), its streams run behind on threads of their own, it may lack ops and element types,
// and it refuses host addresses where device addresses belong, and the reverse. Kernels are the reference ones.
//
// Owned by the session. A stream may be fed by one thread at a time. Destroying the device finishes the launch that
// is running, drops what is queued, and joins; memory must not outlive it.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "ridgeline/device/device.h"

namespace ridgeline {

// What an exchange between ranks takes at least, from its beginning: latency + bytes / bandwidth.
struct SimulatedLink {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes a second; 0: without limit
};

struct SimulatedDeviceOptions {
  std::string name = "simulated";                   // that messages call it by
  std::set<std::string, std::less<>> missing_ops;   // ops without a kernel
  std::set<DType> missing_dtypes;                   // kernels refuse operands and results of these types
  FusionLimits fusion = reference_fusion_limits();  // what it takes as one launch; {}: it fuses nothing
  SimulatedLink link;
  double product_seconds = 0;                              // that each convolution and dense layer takes at least
  std::function<void(std::string_view kernel)> on_launch;  // called by the thread that feeds the stream
};

class SimulatedDevice final : public Device {
 public:
  explicit SimulatedDevice(SimulatedDeviceOptions options = {});
  ~SimulatedDevice() override;

  std::string_view name() const override { return options_.name; }
  bool host_memory() const override { return false; }
  // Freeing waits for the stream, since queued work may use the memory.
  std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) override;
  // run() and the copies check addresses at once (an Error) and then only queue the work. copy_from_host takes the
  // bytes at once; copy_to_host has written them when synchronize() returns. After an error the queued work is dropped;
  // synchronize() throws the error once, and the stream is usable again.
  Stream& stream() override;
  Stream& exchange_stream() override;
  std::unique_ptr<Kernel> collective(const CollectiveRequest& request) override;
  std::vector<KernelEntry> kernels(std::string_view op) const override;
  FusionLimits fusion_limits() const override { return options_.fusion; }

 private:
  class Arena;
  class Memory;
  class Queue;
  SimulatedDeviceOptions options_;
  unsigned missing_mask_ = 0;  // a bit a DType
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Queue> exchanges_;
};

}  // namespace ridgeline
