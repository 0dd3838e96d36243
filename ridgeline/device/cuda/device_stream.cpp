#include "ridgeline/device/cuda/device_stream.h"

#include <fmt/format.h>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/cuda_device.h"
#include "ridgeline/device/staged_copy.h"

namespace ridgeline::cuda {

DeviceStream::DeviceStream(CudaDevice& device, int priority)
    : Stream(device), device_(device), stream_(device.shared_context(), priority) {}

void DeviceStream::run(Kernel& kernel, const KernelArguments& arguments) {
  if (kernel.device != &device_) throw Error("[cuda] kernel '" + kernel.name + "' was made for another device");
  kernel.run({arguments.inputs, arguments.outputs, arguments.scratch, this});
}

SourceUse DeviceStream::copy(const Copy& copy) {
  const auto is_host = [](const Device* device) { return device == nullptr || device->host_memory(); };
  const bool to_own = copy.to_device == &device_, from_own = copy.from_device == &device_;
  if ((!to_own && !is_host(copy.to_device)) || (!from_own && !is_host(copy.from_device))) {
    if (device_.recording()) throw Error("[cuda] a copy between two devices cannot be recorded");
    return staged_copy(*this, copy);
  }
  RIDGELINE_CHECK(to_own || from_own, "a copy on a stream of a card is to it or from it");
  if (to_own && from_own) {
    stream_.copy_on_device(device_address(copy.to), device_address(copy.from), copy.bytes);
    return SourceUse::in_flight;
  }
  if (to_own) {
    stream_.copy_to_device(device_address(copy.to), copy.from, copy.bytes);
    return device_.is_pinned(copy.from, copy.bytes) ? SourceUse::in_flight : SourceUse::over;
  }
  stream_.copy_to_host(copy.to, device_address(copy.from), copy.bytes);
  return SourceUse::in_flight;
}

void DeviceStream::clear(void* device, std::size_t bytes) { stream_.fill(device_address(device), 0, bytes); }

void DeviceStream::record(Event& event) {
  RIDGELINE_CHECK(&event.device() == &device_, "a stream records events of its device");
  stream_.record(static_cast<DeviceEvent&>(event).driver_event());
}

void DeviceStream::wait(Event& event) {
  if (&event.device() == &device_) {
    stream_.wait(static_cast<DeviceEvent&>(event).driver_event());
    return;
  }
  event.wait();
}

void DeviceStream::give(std::string_view what, const KernelLaunch& l) { give(what, l, device_.function(l.kernel)); }

void DeviceStream::give(std::string_view what, const KernelLaunch& l, FunctionHandle function) {
  const std::string name = fmt::format("{}: {}", what, l.kernel.symbol);
  stream_.launch({.name = name,
                  .function = function,
                  .grid = {l.blocks.x, l.blocks.y, l.blocks.z},
                  .block = {l.kernel.threads},
                  .parameters = l.parameters,
                  .parameter_bytes = l.kernel.parameter_bytes,
                  .pointers = l.pointers});
}

void DeviceStream::synchronize() {
  stream_.synchronize();
  device_.host_failure().tell();
}

DeviceEvent::DeviceEvent(CudaDevice& device, bool timed, CudaEvent* base,
                         std::chrono::steady_clock::time_point base_time)
    : Event(device), card_(device), event_(device.shared_context(), timed), base_(base), base_time_(base_time) {}

void DeviceEvent::wait() {
  event_.synchronize();
  card_.host_failure().tell();
}

bool DeviceEvent::reached() {
  const bool reached = event_.reached();
  card_.host_failure().tell();
  return reached;
}

void DeviceRecording::replay() {
  device_.host_failure().tell();
  device_.host_failure().check_end();
  graph_.launch(stream_);
}

std::chrono::steady_clock::time_point DeviceEvent::when() {
  RIDGELINE_CHECK(base_ != nullptr, "an event without a clock is asked when it was reached");
  event_.synchronize();
  return base_time_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                          std::chrono::duration<double>(event_.seconds_since(*base_)));
}

}  // namespace ridgeline::cuda
