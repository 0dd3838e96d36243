// ridgeline/device/event.h
//
// A point in a stream: reached when all work that the stream was given before Stream::record() is done. A device makes
// its events (Device::make_event); streams of any device, and the host, can wait for them. It may be recorded several
// times: a waiter waits for the record that was the last one when it began to wait. An event that was never recorded
// counts as reached. It must live until the streams have finished their work with it.
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
  // The device whose streams record this event.
  const Device& device() const { return device_; }
  // Makes the host wait until the work before the event is done; throws the error of that work. Any thread.
  virtual void wait() = 0;
  // Whether that work is done. If it failed, this throws as wait() does.
  virtual bool reached() = 0;
  // When that work was done, by the host's clock. Only for an event of Device::make_timed_event, once it is reached.
  virtual std::chrono::steady_clock::time_point when() = 0;

 private:
  const Device& device_;
};

}  // namespace ridgeline
