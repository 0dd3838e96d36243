// ridgeline/device/exchange_stream.h
//
// The second stream of a device whose memory is the host's: runs what it is given behind, on a thread of its own,
// beside whatever the first stream does. Fed by one thread at a time.
#pragma once

#include <cstring>

#include "ridgeline/device/device.h"
#include "ridgeline/device/work_queue.h"

namespace ridgeline {

class ExchangeStream final : public Stream {
 public:
  // The arrays behind `arguments` must stay until the kernel has run.
  void run(Kernel& kernel, const KernelArguments& arguments) override {
    queue_.push([&kernel, arguments] { kernel.run(arguments); });
  }
  void copy_from_host(void* device, const void* host, std::size_t bytes) override {
    queue_.push([=] { std::memmove(device, host, bytes); });
  }
  void copy_to_host(void* host, const void* device, std::size_t bytes) override {
    queue_.push([=] { std::memmove(host, device, bytes); });
  }
  void synchronize() override { queue_.synchronize(); }
  void record(Event& event) override { queue_.record(event); }
  void wait(Event& event) override {
    queue_.push([&event] { event.wait(); });
  }

 private:
  WorkQueue queue_;
};

}  // namespace ridgeline
