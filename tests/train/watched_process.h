// tests/train/watched_process.h
//
// Runs the program on a directory and stops it by a signal at a certain output instead of a certain time: after a
// number of file changes, or while it writes a checkpoint. One thread.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::testing {

enum class Place {
  anywhere,  // also while the process starts
  training,  // after the process has logged its own first step
  saving,    // likewise, while the temporary file of a checkpoint exists
};

struct Stop {
  int signal = 0;  // 0: none, the process runs to its end
  Place place = Place::anywhere;
  int changes = 0;  // number of file changes in the directory after that to ignore
};

struct ProcessEnd {
  int code = 0;          // exit code, or 128 + signal
  bool stopped = false;  // ended by the Stop's signal: killed by it, or exit code 130
  bool in_training = false;
  bool in_save = false;  // it left the temporary file of a checkpoint
};

// Runs `words` (the program first). `log` is the file in `directory` with the lines "step: ...".
ProcessEnd run_and_stop(const std::vector<std::string>& words, const std::string& directory, const std::string& log,
                        const Stop& stop);

}  // namespace ridgeline::testing
