// ridgeline/device/simulated/simulated_device.h
//
// A device for tests, as strict as a real accelerator. Its addresses are reserved ranges that the host cannot access
// (the bytes are kept elsewhere), its streams run asynchronously on their own threads, it may lack ops and element
// types, and it refuses host addresses in place of device addresses, and vice versa. Work of two streams that touches
// the same bytes must be ordered by events (access_order.h), whether it is done once or replayed. Kernels are the
// reference ones.
//
// Owned by the session. One thread at a time may use a stream. Destroying the device finishes the running launch, drops
// queued work, and joins the threads; memory must not outlive it.
#pragma once

#include <atomic>
#include <functional>
#include <set>
#include <string>

#include "ridgeline/device/device.h"

namespace ridgeline {

class AccessOrder;
class RecordedWork;
class SimulatedArena;
class SimulatedStream;

// The least time of an exchange between ranks: latency + bytes / bandwidth.
struct SimulatedLink {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes per second; 0: unlimited
};

struct SimulatedDeviceOptions {
  std::string name = "simulated";                   // in messages
  std::set<std::string, std::less<>> missing_ops;   // ops without a kernel
  std::set<DType> missing_dtypes;                   // kernels refuse operands and results of these types
  FusionLimits fusion = reference_fusion_limits();  // what it takes as one launch; {}: it fuses nothing
  SimulatedLink link;
  double product_seconds = 0;    // least time of each convolution and dense layer
  std::size_t memory_limit = 0;  // bytes that exist; 0: what this process may use
  bool records = true;
  std::function<void(std::string_view kernel)> on_launch;  // called by the thread that gives the launch
};

class SimulatedDevice final : public Device {
 public:
  explicit SimulatedDevice(SimulatedDeviceOptions options = {});
  ~SimulatedDevice() override;

  std::string_view name() const override { return options_.name; }
  std::string architecture() const override { return "reference"; }
  bool host_memory() const override { return false; }
  // Freeing waits for the streams, since queued work may use the memory.
  std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) override;
  std::unique_ptr<DeviceMemory> allocate_pinned(std::size_t bytes) override;
  std::size_t memory_limit() const override;
  // run() and the copies check addresses and order immediately (an Error) and then only queue the work. A copy from
  // memory of the host that is not pinned takes the bytes immediately; one from pinned memory reads them when its turn
  // comes, and fails if they were overwritten. After an error the queued work is dropped; synchronize() throws the
  // error once, and the stream is usable again.
  Stream& stream_for(StreamPurpose purpose) override;
  std::unique_ptr<Event> make_event() override;
  std::unique_ptr<Event> make_timed_event() override { return make_event(); }
  std::unique_ptr<Recording> record(FunctionRef<void()> body) override;
  bool records() const override { return options_.records; }
  std::unique_ptr<Kernel> collective(const CollectiveRequest& request) override;
  std::unique_ptr<Kernel> conversion(const ValueType&, const Layout&, const Layout&) override { return nullptr; }
  std::vector<KernelEntry> kernels(std::string_view op) const override;
  FusionLimits fusion_limits() const override { return options_.fusion; }
  DeviceRates rates() const override;
  MeasuredRates measured_rates() override { return {rates(), rates()}; }

  const SimulatedDeviceOptions& options() const { return options_; }
  // How often the host has waited for it, and how many recordings were replayed.
  std::int64_t host_waits() const { return host_waits_; }
  std::int64_t replays() const { return replays_; }

  // For the device's streams and recordings.
  SimulatedArena& arena() { return *arena_; }
  AccessOrder& order() { return *order_; }
  RecordedWork* recording() const { return recording_; }
  void launched(std::string_view kernel) const {
    if (options_.on_launch) options_.on_launch(kernel);
  }
  void host_waited() { ++host_waits_; }
  void replayed() { ++replays_; }

 private:
  class Memory;
  class Pinned;
  void drain();

  SimulatedDeviceOptions options_;
  std::unique_ptr<SimulatedArena> arena_;
  std::unique_ptr<AccessOrder> order_;
  RecordedWork* recording_ = nullptr;  // while one is made
  std::atomic<std::int64_t> host_waits_{0}, replays_{0};
  std::vector<std::unique_ptr<SimulatedStream>> streams_;  // by purpose; last: they use all of the above
};

}  // namespace ridgeline
