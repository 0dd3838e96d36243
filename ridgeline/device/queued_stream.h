// ridgeline/device/queued_stream.h
//
// An asynchronous stream of a device whose memory is the host's: it runs its work on its own thread, such as exchanges
// and copies during compute. Used by one thread at a time.
#pragma once

#include "ridgeline/device/stream.h"
#include "ridgeline/device/work_queue.h"

namespace ridgeline {

class QueuedStream final : public Stream {
 public:
  using Stream::Stream;
  // The arrays that `arguments` point to must stay valid until the kernel has run.
  void run(Kernel& kernel, const KernelArguments& arguments) override;
  SourceUse copy(const Copy& copy) override;
  void clear(void* device, std::size_t bytes) override;
  void synchronize() override { queue_.synchronize(); }
  void record(Event& event) override;
  void wait(Event& event) override;

 private:
  WorkQueue queue_;
};

}  // namespace ridgeline
