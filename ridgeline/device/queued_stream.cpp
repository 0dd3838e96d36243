#include "ridgeline/device/queued_stream.h"

#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/device/host_event.h"

namespace ridgeline {

void QueuedStream::run(Kernel& kernel, const KernelArguments& arguments) {
  KernelArguments here = arguments;
  here.stream = this;
  queue_.push([&kernel, here] { kernel.run(here); });
}

SourceUse QueuedStream::copy(const Copy& copy) {
  queue_.push([copy] { std::memmove(copy.to, copy.from, copy.bytes); });
  return SourceUse::in_flight;
}

void QueuedStream::clear(void* device, std::size_t bytes) {
  queue_.push([device, bytes] { std::memset(device, 0, bytes); });
}

void QueuedStream::record(Event& event) {
  RIDGELINE_CHECK(&event.device() == &device(), "a stream records the events of its own device");
  queue_.record(static_cast<HostEvent&>(event));
}

void QueuedStream::wait(Event& event) {
  if (&event.device() != &device()) {
    queue_.push([&event] { event.wait(); });
    return;
  }
  auto& own = static_cast<HostEvent&>(event);
  queue_.push([&own, record = own.recorded()] { own.wait_for(record); });
}

}  // namespace ridgeline
