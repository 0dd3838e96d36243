// ridgeline/train/launch/launch.h
//
// Starts the processes of a plan and waits for them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ridgeline/train/launch/launch_plan.h"

namespace ridgeline::train {

struct RankEnd {
  int rank = 0;
  int code = 0;          // exit code, or 128 + signal
  bool stopped = false;  // by the launcher, since another rank had failed
};

// Each rank runs `command` (a program and its words) in its folder, which is made where it is not there and never
// emptied. Its output goes to the end of its log, whose last line becomes `turing train success` or `turing train
// fail`; env_<device>.log is its environment. When a rank fails, the others have `grace_seconds` to end by themselves,
// then they are terminated. They end with this process, however it ends. `say` gets a line for each start and end.
//
// Returns the ends in the order of the ranks; an Error where a folder or a process cannot be made: then none is left.
std::vector<RankEnd> run_launch(const LaunchPlan& plan, const std::vector<std::string>& command, int grace_seconds,
                                const std::function<void(const std::string&)>& say);

// Words that name a file or folder from here, as they are or behind "--flag=", by their absolute path: ranks run in
// other folders. Values of --log_dir and --checkpoint_dir stay: they are made there.
std::vector<std::string> with_absolute_paths(std::vector<std::string> words);

}  // namespace ridgeline::train
