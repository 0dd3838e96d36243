// ridgeline/device/device.h
//
// Where programs run: memory, a stream of work in order, and the kernels for it. Devices are owned by the session and
// outlive every program compiled for them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/device/event.h"
#include "ridgeline/device/kernel.h"
#include "ridgeline/graph/pass/fusion_limits.h"

namespace ridgeline {

class KernelTuner;
struct CollectiveRequest;

// Memory of one device; freed with the object. Addresses of another device's memory are no host pointers.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual void* address() = 0;
  virtual std::size_t bytes() const = 0;
  // True where the contents are zeros until somebody writes: fresh pages need not be touched to become zero.
  virtual bool starts_as_zeros() const { return false; }
};

// Executes what it is given in order. On the CPU run() returns when the work is done; other streams run behind.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void run(Kernel& kernel, const KernelArguments& arguments) = 0;
  virtual void copy_from_host(void* device, const void* host, std::size_t bytes) = 0;
  virtual void copy_to_host(void* host, const void* device, std::size_t bytes) = 0;
  // Waits for everything given so far; an error of that work is thrown here.
  virtual void synchronize() = 0;
  // The event is reached when everything given so far is done.
  virtual void record(Event& event) {
    event.reset();
    event.reach();
  }
  // What is given from now on begins when the event is reached. On the CPU it returns then; an error of the work in
  // front of the event is thrown here, where a stream runs behind by its synchronize().
  virtual void wait(Event& event) { event.wait(); }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;  // "cpu", "simulated"
  // True when device addresses are host addresses, so that no copies are needed.
  virtual bool host_memory() const = 0;
  virtual std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) = 0;
  virtual Stream& stream() = 0;
  // A second stream, which runs beside that one: for exchanges between ranks. Made when it is first asked for.
  virtual Stream& exchange_stream() = 0;
  // What runs on it: the exchange of a collective_start (collective_kernel.h).
  virtual std::unique_ptr<Kernel> collective(const CollectiveRequest& request) = 0;
  // True where several threads may give launches to stream(), which runs each at once.
  virtual bool side_by_side() const { return false; }
  // The kernel entries for an op, in the order in which compilation tries them. Empty: the op has no kernel here.
  virtual std::vector<KernelEntry> kernels(std::string_view op) const = 0;
  // What the kernels of programs for it must promise.
  virtual KernelPromise promise() const { return {}; }
  // What chooses kernels by time, where that is asked for.
  virtual KernelTuner* tuner() { return nullptr; }
  // What its kernels take as one launch. A fused op that they refuse for other reasons is split again.
  virtual FusionLimits fusion_limits() const = 0;
};

}  // namespace ridgeline
