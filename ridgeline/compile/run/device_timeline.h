// ridgeline/compile/run/device_timeline.h
//
// When work began and ended on the streams of an asynchronous device: timed events around it, read once they are
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
  // `tell` is called by collect(), for spans in their order.
  DeviceTimeline(Device& device, Tell tell) : device_(device), tell_(std::move(tell)) {}

  // Times the work that `give` puts on the stream.
  void span(StreamPurpose stream, TimedSpan what, FunctionRef<void()> give);
  // Reports finished spans. Does not wait.
  void collect();
  // Drops all spans; call after a failure, when nothing is in flight any more.
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
