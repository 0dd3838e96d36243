// ridgeline/device/event.h
//
// A point in a stream: reached when all that the stream was given before Stream::record() is done. A device makes its
// events (Device::make_event); streams of any device, and the host, wait for them. It may be recorded again at any
// time: who waits, waits for the record that was the last one when it asked. One that was never recorded is reached.
#pragma once

#include <chrono>

namespace ridgeline {

class Device;

class Event {
 public:
  explicit Event(const Device& device) : device_(device) {}
  virtual ~Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  // Whose streams record it.
  const Device& device() const { return device_; }
  // The host waits until it is reached; throws the error of the work in front of it. Any thread.
  virtual void wait() = 0;
  // Whether it is reached; throws then where wait() would.
  virtual bool reached() = 0;
  // When it was reached, by the host's clock. Of a timed event (Device::make_timed_event) that is reached.
  virtual std::chrono::steady_clock::time_point when() = 0;

 private:
  const Device& device_;
};

}  // namespace ridgeline
