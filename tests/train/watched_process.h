// tests/train/watched_process.h
//
// The program over a directory, stopped by a signal at a place in what it writes there rather than at a time: after so
// many changes of files, or while it writes a checkpoint. One thread.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::testing {

enum class Place {
  anywhere,  // also while the process starts
  training,  // after the process has logged a step of its own
  saving,    // likewise, while the temporary file of a checkpoint is there
};

struct Stop {
  int signal = 0;  // 0: none, the process runs to its end
  Place place = Place::anywhere;
  int changes = 0;  // changes of files in the directory that are let pass at that place
};

struct ProcessEnd {
  int code = 0;          // exit code, or 128 + signal
  bool stopped = false;  // by the Stop's signal: killed by it, or exit code 130
  bool in_training = false;
  bool in_save = false;  // it left the temporary file of a checkpoint
};

// Runs `words` (the program first). `log` is the file in `directory` that gets lines "step: ...".
ProcessEnd run_and_stop(const std::vector<std::string>& words, const std::string& directory, const std::string& log,
                        const Stop& stop);

}  // namespace ridgeline::testing
