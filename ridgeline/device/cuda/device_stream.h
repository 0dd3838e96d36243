// ridgeline/device/cuda/device_stream.h
//
// Streams, events and recordings of a CudaDevice, over those of the driver.
#pragma once

#include <memory>
#include <string_view>

#include "ridgeline/device/cuda/driver/streams.h"
#include "ridgeline/device/cuda/kernels/row.h"
#include "ridgeline/device/event.h"
#include "ridgeline/device/recording.h"
#include "ridgeline/device/stream.h"

namespace ridgeline::cuda {

class CudaDevice;

class DeviceStream final : public Stream {
 public:
  DeviceStream(CudaDevice& device, int priority);

  void run(Kernel& kernel, const KernelArguments& arguments) override;
  SourceUse copy(const Copy& copy) override;
  void clear(void* device, std::size_t bytes) override;
  void synchronize() override;
  void record(Event& event) override;
  void wait(Event& event) override;

  // Enqueues a launch of one of our kernels. `what` is for messages.
  void give(std::string_view what, const KernelLaunch& launch);
  // The same for a kernel that is not in the table.
  void give(std::string_view what, const KernelLaunch& launch, FunctionHandle function);
  CudaStream& driver_stream() { return stream_; }

 private:
  CudaDevice& device_;
  CudaStream stream_;
};

class DeviceEvent final : public Event {
 public:
  // For a timed event: `base`, an event that was reached at `base_time`.
  DeviceEvent(CudaDevice& device, bool timed, CudaEvent* base, std::chrono::steady_clock::time_point base_time);
  void wait() override;
  bool reached() override;
  std::chrono::steady_clock::time_point when() override;
  CudaEvent& driver_event() { return event_; }

 private:
  CudaDevice& card_;
  CudaEvent event_;
  CudaEvent* base_;
  std::chrono::steady_clock::time_point base_time_;
};

class DeviceRecording final : public Recording {
 public:
  DeviceRecording(CudaDevice& device, DeviceStream& stream, FunctionRef<void()> body)
      : device_(device), stream_(stream.driver_stream()), graph_(stream_, body) {}
  void replay() override;

 private:
  CudaDevice& device_;
  CudaStream& stream_;
  CapturedGraph graph_;
};

}  // namespace ridgeline::cuda
