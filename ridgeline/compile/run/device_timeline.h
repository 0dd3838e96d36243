// ridgeline/compile/run/device_timeline.h
//
// When work began and ended on the streams of a device that runs behind: timed events around it, read when they are
// reached. Owned by the program. One thread.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/core/function_ref.h"
#include "ridgeline/device/device.h"

namespace ridgeline {

// What is known of a span when it is over.
struct TimedSpan {
  std::string category, name;
  int launch = -1;  // of the program; -1: something else
  std::int64_t run = 0;
};

class DeviceTimeline {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  using Tell = std::function<void(const TimedSpan& span, StreamPurpose stream, Moment begin, Moment end)>;
  // `tell` is called by collect(), for spans in the order in which they were given.
  DeviceTimeline(Device& device, Tell tell) : device_(device), tell_(std::move(tell)) {}

  // Around what `give` gives to the stream.
  void span(StreamPurpose stream, TimedSpan what, FunctionRef<void()> give);
  // Tells of what is over. Waits for nothing.
  void collect();
  // Nothing is in flight any more, as something failed.
  void forget() { entries_.clear(); }

 private:
  struct Entry {
    TimedSpan what;
    StreamPurpose stream;
    std::unique_ptr<Event> begin, end;
  };
  std::unique_ptr<Event> event();

  Device& device_;
  Tell tell_;
  std::deque<Entry> entries_;
  std::vector<std::unique_ptr<Event>> free_;
};

}  // namespace ridgeline
