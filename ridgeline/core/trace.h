// ridgeline/core/trace.h
//
// A timeline of stages, launches, waits and copies, written as Chrome trace JSON (chrome://tracing, Perfetto).
// Owned by the session; a null pointer means "not tracing" and costs one branch. Any thread may record.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridgeline {

class Trace {
 public:
  using Clock = std::chrono::steady_clock;
  Trace();
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // What a viewer shows of a span beside its name and time.
  using Details = std::vector<std::pair<std::string, std::string>>;

  // One finished span on the calling thread's lane.
  void record(std::string_view category, std::string_view name, Clock::time_point begin, Clock::time_point end,
              Details details = {});
  // The same on a lane of that name: for work that no thread of this process does.
  void record_in(std::string_view lane, std::string_view category, std::string_view name, Clock::time_point begin,
                 Clock::time_point end, Details details = {});
  // Names the calling thread's lane ("data worker 2").
  void name_thread(std::string_view name);
  // Writes {"traceEvents": [...]} atomically. Times in microseconds since construction.
  void write(const std::string& path) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Records its own lifetime as a span; does nothing with a null trace.
class TraceSpan {
 public:
  TraceSpan(Trace* trace, std::string_view category, std::string_view name)
      : trace_(trace), category_(category), name_(name) {
    if (trace_) begin_ = Trace::Clock::now();
  }
  ~TraceSpan() {
    if (trace_) trace_->record(category_, name_, begin_, Trace::Clock::now());
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  Trace* trace_;
  std::string_view category_;
  std::string_view name_;
  Trace::Clock::time_point begin_{};
};

}  // namespace ridgeline
