// ridgeline/core/log.h
//
// Diagnostic messages of one session to standard error: warnings always, components ("dispatch", "placement", "memory",
// "passes", "data") only when enabled. Not the training log, which train/ writes. Any thread may write; enable()
// belongs to start-up, before others do. A message is one line: line breaks and the like are escaped (printable.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace ridgeline {

class Log {
 public:
  Log();
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Components by name, separated by commas; an unknown one is an Error that lists them.
  void enable(std::string_view components);
  bool enabled(std::string_view component) const;
  // Writes "[component] message" when the component is enabled.
  void trace(std::string_view component, const std::string& message);
  void info(const std::string& message);
  void warning(const std::string& message);
  void error(const std::string& message);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ridgeline
