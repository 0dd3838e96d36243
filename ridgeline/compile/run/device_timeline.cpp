#include "ridgeline/compile/run/device_timeline.h"

namespace ridgeline {

std::unique_ptr<Event> DeviceTimeline::event() {
  if (free_.empty()) return device_.make_timed_event();
  std::unique_ptr<Event> used = std::move(free_.back());
  free_.pop_back();
  return used;
}

void DeviceTimeline::span(StreamPurpose stream, TimedSpan what, FunctionRef<void()> give) {
  Entry entry{std::move(what), stream, event(), event()};
  device_.stream_for(stream).record(*entry.begin);
  give();
  device_.stream_for(stream).record(*entry.end);
  entries_.push_back(std::move(entry));
}

void DeviceTimeline::collect() {
  while (!entries_.empty() && entries_.front().end->reached()) {
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    tell_(entry.what, entry.stream, entry.begin->when(), entry.end->when());
    free_.push_back(std::move(entry.begin));
    free_.push_back(std::move(entry.end));
  }
}

}  // namespace ridgeline
