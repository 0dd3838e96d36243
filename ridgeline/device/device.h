// ridgeline/device/device.h
//
// Where programs run: memory, streams of ordered work, events between them, and the kernels. Devices are owned by the
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
// not host pointers.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual void* address() = 0;
  virtual std::size_t bytes() const = 0;
  // True if the contents are zeros until first written: new pages need not be touched to become zero.
  virtual bool starts_as_zeros() const { return false; }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;     // "cpu", "simulated", "cuda:1"
  virtual std::string architecture() const = 0;  // for reports: "amx", "sm_90"

  // True if device addresses are host addresses, so that no copies are needed, and kernels may be run on any thread.
  virtual bool host_memory() const = 0;
  virtual std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) = 0;
  // Memory of the host that copies to and from this device read and write directly and asynchronously.
  virtual std::unique_ptr<DeviceMemory> allocate_pinned(std::size_t bytes) = 0;
  // Bytes that a program on it may use in total, parameters included: the memory that other processes do not hold.
  virtual std::size_t memory_limit() const = 0;

  // The stream of that purpose, one each; made on first use.
  virtual Stream& stream_for(StreamPurpose purpose) = 0;
  Stream& stream() { return stream_for(StreamPurpose::compute); }
  // Events that its streams record. Timed ones know when they were reached, and may be slower.
  virtual std::unique_ptr<Event> make_event() = 0;
  virtual std::unique_ptr<Event> make_timed_event() = 0;
  // True if several threads may give launches to stream(), which runs each immediately.
  virtual bool side_by_side() const { return false; }

  // Records the work that `body` gives to this device's streams, to be replayed any number of times; nothing is run
  // now. It begins on the compute stream; work for another stream must come after an event of the compute stream, which
  // must wait for it at the end. In `body`, the host must not wait for events or streams, allocate, or copy from or to
  // memory of the host that is not pinned. Events recorded in it may only be waited for in it. Null: this device
  // cannot.
  virtual std::unique_ptr<Recording> record(FunctionRef<void()> /*body*/) { return nullptr; }
  virtual bool records() const { return false; }

  // The kernel entries for an op; compilation tries them in the order of ranked_entries.h. Empty: the device has no
  // kernel for the op.
  virtual std::vector<KernelEntry> kernels(std::string_view op) const = 0;
  // The exchange of a collective_start (collective_kernel.h), for the stream of exchanges.
  virtual std::unique_ptr<Kernel> collective(const CollectiveRequest& request) = 0;
  // The kernel that converts a value between two layouts, both in this device's memory. Null: converted on the host,
  // between two copies. `type` is that of both.
  virtual std::unique_ptr<Kernel> conversion(const ValueType& type, const Layout& from, const Layout& to) = 0;
  // The same with a change of element type. Null: through plain rows.
  virtual std::unique_ptr<Kernel> cast_conversion(DType /*from_type*/, const Layout& /*from*/, DType /*to_type*/,
                                                  const Layout& /*to*/) {
    return nullptr;
  }
  // What the kernels of programs for it must promise.
  virtual KernelPromise promise() const { return {}; }
  // Chooses kernels by time, if requested.
  virtual KernelTuner* tuner() { return nullptr; }
  // What its kernels take as one launch. A fused op that they refuse for other reasons is split up again.
  virtual FusionLimits fusion_limits() const = 0;

  // How fast it is: orders of magnitude, equal on machines of the same kind, for decisions of compilation. If a team
  // computes, the rates of one thread.
  virtual DeviceRates rates() const = 0;
  // Measured once for each size of the calling thread's team, and kept; takes about a second. The rates of the whole
  // team.
  virtual MeasuredRates measured_rates() = 0;
};

}  // namespace ridgeline
