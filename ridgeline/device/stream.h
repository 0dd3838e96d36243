// ridgeline/device/stream.h
//
// Executes what it is given in order. On the CPU's compute stream run() and copy() return when the work is done; other
// streams run behind. A device owns its streams (Device::stream_for). Fed by one thread at a time.
#pragma once

#include <cstddef>

#include "ridgeline/device/event.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline {

class Device;

// What a stream is for: work on one runs beside work on the others, and events put it in order.
enum class StreamPurpose {
  compute,    // the launches of programs
  copies,     // inputs on their way to the device
  exchanges,  // between ranks
};

struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  // Whose memory it is; null: the host's, pinned or not. One of both is the stream's device, or both are.
  Device* to_device = nullptr;
  Device* from_device = nullptr;
};

// When the source of a copy may be written over.
enum class SourceUse {
  over,       // at once: its bytes are taken
  in_flight,  // when an event that is recorded behind the copy is reached: pinned and device memory is read later
};

class Stream {
 public:
  explicit Stream(Device& device) : device_(device) {}
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  Device& device() const { return device_; }

  // Kernel::run with this stream in the arguments. The arrays behind `arguments` are read before it returns, but for
  // kernels on host addresses (exchanges of a device whose memory is the host's): there when the kernel runs.
  virtual void run(Kernel& kernel, const KernelArguments& arguments) = 0;
  // A target in the host's memory is written when an event that is recorded behind it is reached, or synchronize()
  // returns.
  virtual SourceUse copy(const Copy& copy) = 0;
  // Zeros on the device.
  virtual void clear(void* device, std::size_t bytes) = 0;
  // Waits for everything given so far; an error of that work is thrown here, once.
  virtual void synchronize() = 0;
  // The event is reached when everything given so far is done.
  virtual void record(Event& event) = 0;
  // What is given from now on begins when the event is reached. Where work is done at once it returns then; an error of
  // the work in front of the event is thrown here, where a stream runs behind by its synchronize(). Of another kind of
  // device's event the host may wait instead.
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
