// ridgeline/device/stream.h
//
// Runs its work in order. On the CPU's compute stream run() and copy() return when the work is done; other streams are
// asynchronous. A device owns its streams (Device::stream_for). Used by one thread at a time.
#pragma once

#include <cstddef>

#include "ridgeline/device/event.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline {

class Device;

// The purpose of a stream: work on different streams runs concurrently, and events order it.
enum class StreamPurpose {
  compute,    // the launches of programs
  copies,     // inputs on their way to the device
  exchanges,  // between ranks
};

struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  // The device whose memory it is; null: the host's, pinned or not. At least one of the two is the stream's device.
  Device* to_device = nullptr;
  Device* from_device = nullptr;
};

// When the source of a copy may be overwritten.
enum class SourceUse {
  over,       // now: its bytes were read
  in_flight,  // when an event recorded after the copy is reached: pinned and device memory is read later
};

class Stream {
 public:
  explicit Stream(Device& device) : device_(device) {}
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  Device& device() const { return device_; }

  // Kernel::run with this stream in the arguments. The arrays that `arguments` point to are read before it returns,
  // except for kernels on host addresses (exchanges of a device whose memory is the host's), which read them when they
  // run.
  virtual void run(Kernel& kernel, const KernelArguments& arguments) = 0;
  // A target in the host's memory is written when an event recorded after the copy is reached, or synchronize()
  // returns.
  virtual SourceUse copy(const Copy& copy) = 0;
  // Fills with zeros on the device.
  virtual void clear(void* device, std::size_t bytes) = 0;
  // Waits for all work so far; an error of that work is thrown here, once.
  virtual void synchronize() = 0;
  // Makes the event reached when all work so far is done.
  virtual void record(Event& event) = 0;
  // Later work begins when the event is reached. A synchronous stream returns only then, and throws an error of the
  // work before the event; an asynchronous one throws it in synchronize(). For events of another kind of device the
  // host may wait instead.
  virtual void wait(Event& event) = 0;

  SourceUse copy_from_host(void* device, const void* host, std::size_t bytes) {
    return copy({.to = device, .from = host, .bytes = bytes, .to_device = &device_});
  }
  SourceUse copy_to_host(void* host, const void* device, std::size_t bytes) {
    return copy({.to = host, .from = device, .bytes = bytes, .from_device = &device_});
  }

 private:
  Device& device_;
};

}  // namespace ridgeline
