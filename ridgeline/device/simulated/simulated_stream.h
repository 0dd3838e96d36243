// ridgeline/device/simulated/simulated_stream.h
//
// A stream of the simulated device: launches and copies whose addresses and order are checked immediately, and which a
// thread then runs in order. While the device records, they are added to the recording instead. Used by one thread at a
// time.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "ridgeline/device/simulated/simulated_device.h"
#include "ridgeline/device/simulated/simulated_event.h"
#include "ridgeline/device/simulated/simulated_kernel.h"
#include "ridgeline/device/work_queue.h"

namespace ridgeline {

// One piece of a stream's work.
struct SimulatedWork {
  enum class Kind { work, record, wait };
  Kind kind = Kind::work;
  std::string what;
  std::vector<Access> accesses;
  std::function<void()> body;
  Event* event = nullptr;
};

class SimulatedStream final : public Stream {
 public:
  // `least`: the least time of each product.
  SimulatedStream(SimulatedDevice& device, StreamPurpose purpose, std::chrono::microseconds least)
      : Stream(device), device_(device), purpose_(purpose), least_(least) {}

  void run(Kernel& kernel, const KernelArguments& arguments) override;
  SourceUse copy(const Copy& copy) override;
  void clear(void* device, std::size_t bytes) override;
  void synchronize() override;
  void record(Event& event) override;
  void wait(Event& event) override;

  // Called by kernels of the device.
  void launch(const SimulatedKernel& kernel, const KernelArguments& arguments);
  // Checks its order and queues it.
  void give(const SimulatedWork& work);
  // Waits until all work is done; leaves an error for the next synchronize().
  void drain() { queue_.drain(); }

 private:
  std::size_t index() const { return static_cast<std::size_t>(purpose_); }
  void submit(SimulatedWork work);
  void refuse_while_recording(const char* what) const;

  SimulatedDevice& device_;
  StreamPurpose purpose_;
  std::chrono::microseconds least_;
  WorkQueue queue_;  // last: it uses all of the above
};

}  // namespace ridgeline
