// ridgeline/device/device.h
//
// Where programs run: memory, streams of work in order, events between them, and the kernels. Devices are owned by the
// session and outlive every program compiled for them. Nothing outside of a device reads one of its addresses.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/core/function_ref.h"
#include "ridgeline/device/event.h"
#include "ridgeline/device/kernel.h"
#include "ridgeline/device/rates.h"
#include "ridgeline/device/recording.h"
#include "ridgeline/device/stream.h"
#include "ridgeline/graph/pass/fusion_limits.h"

namespace ridgeline {

class KernelTuner;
struct CollectiveRequest;

// Memory of one device, or pinned memory of the host; freed with the object. Addresses of another device's memory are
// no host pointers.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual void* address() = 0;
  virtual std::size_t bytes() const = 0;
  // True where the contents are zeros until somebody writes: fresh pages need not be touched to become zero.
  virtual bool starts_as_zeros() const { return false; }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;     // "cpu", "simulated", "cuda:1"
  virtual std::string architecture() const = 0;  // for reports: "amx", "sm_90"

  // True when device addresses are host addresses, so that no copies are needed, and kernels may be run on any thread.
  virtual bool host_memory() const = 0;
  virtual std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) = 0;
  // Memory of the host, which copies to and from this device read and write where it lies, behind the host.
  virtual std::unique_ptr<DeviceMemory> allocate_pinned(std::size_t bytes) = 0;
  // Bytes that a program on it may take in all, parameters included: what there is and no other process holds.
  virtual std::size_t memory_limit() const = 0;

  // The stream of that purpose, one each; made when it is first asked for.
  virtual Stream& stream_for(StreamPurpose purpose) = 0;
  Stream& stream() { return stream_for(StreamPurpose::compute); }
  // Events that its streams record. Timed ones know when they were reached, and may be slower.
  virtual std::unique_ptr<Event> make_event() = 0;
  virtual std::unique_ptr<Event> make_timed_event() = 0;
  // True where several threads may give launches to stream(), which runs each at once.
  virtual bool side_by_side() const { return false; }

  // What `body` gives to this device's streams, to be done again and again; nothing of it is done now. It begins on the
  // compute stream; what it gives to another stream comes behind an event of the compute stream, and that waits for
  // them at the end. Nobody waits for events or streams, allocates, or copies from or to memory of the host that is not
  // pinned in `body`. Events that are recorded in it are for waiting in it alone. Null: this device cannot.
  virtual std::unique_ptr<Recording> record(FunctionRef<void()> /*body*/) { return nullptr; }
  virtual bool records() const { return false; }

  // The kernel entries for an op; compilation tries them in the order of ranked_entries.h. Empty: the op has no kernel
  // here.
  virtual std::vector<KernelEntry> kernels(std::string_view op) const = 0;
  // The exchange of a collective_start (collective_kernel.h), for the stream of exchanges.
  virtual std::unique_ptr<Kernel> collective(const CollectiveRequest& request) = 0;
  // The kernel that makes a value of another layout of it, both in this device's memory. Null: it is done on the host,
  // between two copies. `type` is that of both.
  virtual std::unique_ptr<Kernel> conversion(const ValueType& type, const Layout& from, const Layout& to) = 0;
  // The same with another element type. Null: by way of plain rows.
  virtual std::unique_ptr<Kernel> cast_conversion(DType /*from_type*/, const Layout& /*from*/, DType /*to_type*/,
                                                  const Layout& /*to*/) {
    return nullptr;
  }
  // What the kernels of programs for it must promise.
  virtual KernelPromise promise() const { return {}; }
  // What chooses kernels by time, where that is asked for.
  virtual KernelTuner* tuner() { return nullptr; }
  // What its kernels take as one launch. A fused op that they refuse for other reasons is split again.
  virtual FusionLimits fusion_limits() const = 0;

  // How fast it is: orders of magnitude, the same for the same kind of machine, by which compilation decides. Where a
  // team computes, of one of its threads.
  virtual DeviceRates rates() const = 0;
  // Measured, once for each size of the calling thread's team, and kept; takes about a second. Of the whole team.
  virtual MeasuredRates measured_rates() = 0;
};

}  // namespace ridgeline
