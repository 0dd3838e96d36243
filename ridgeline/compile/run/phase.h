// ridgeline/compile/run/phase.h
//
// How long a phase of compilation or start-up took: a line of the log's component "passes" and a span of the trace.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "ridgeline/compile/run/session.h"

namespace ridgeline {

// Lasts from its construction to its end. `name` must outlive it.
class Phase {
 public:
  Phase(Session& session, const char* name) : session_(session), name_(name) {}
  ~Phase() {
    const auto now = Trace::Clock::now();
    if (Trace* trace = session_.trace()) trace->record("compile", name_, begin_, now);
    char text[64];
    std::snprintf(text, sizeof text, " in %.1f ms", std::chrono::duration<double, std::milli>(now - begin_).count());
    session_.log().trace("passes", name_ + std::string(text));
  }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  Session& session_;
  const char* name_;
  Trace::Clock::time_point begin_ = Trace::Clock::now();
};

}  // namespace ridgeline
