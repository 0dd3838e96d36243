// ridgeline/train/experiment/child_process.h
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::train {

struct ChildResult {
  int code = 0;                 // exit code, or 128 + signal
  std::int64_t peak_bytes = 0;  // largest resident size
};

// Runs a program to its end with standard output and error in a file (made anew) and no standard input. Ctrl-C in a
// terminal reaches the child directly; another interrupt() is passed on once, as SIGTERM. The child also gets SIGTERM
// when this process ends, however it ends. An Error if it cannot be started.
ChildResult run_child(const std::vector<std::string>& command, const std::string& output);

}  // namespace ridgeline::train
