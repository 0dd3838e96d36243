// ridgeline/train/launch/launch.h
//
// Starts the processes of a launch plan and waits for them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ridgeline/core/given_function.h"
#include "ridgeline/train/launch/launch_plan.h"

namespace ridgeline::train {

// Exit code of a run that has saved and ended on request.
inline constexpr int kInterruptedCode = 130;

struct RankEnd {
  std::string name;      // as in the plan
  int code = 0;          // exit code, or 128 + signal
  int turn = 0;          // how many had ended before it
  bool stopped = false;  // by the launcher, because another rank had failed
};

// Each rank runs `command` (a program and its words) in its folder, which is made if missing and never emptied. Its
// output goes to the end of its log, whose last line becomes `turing train success` or `turing train fail`;
// env_<device>.log is its environment. When a rank fails, the others have `grace_seconds` to end by themselves, then
// they are terminated. They also end when this process ends, however it ends. `say` gets a line for each start and end.
// interrupt() of this process (interrupt.h) is passed on once, as SIGTERM: ranks that train then save and end with
// kInterruptedCode.
//
// Returns how the ranks ended, in their order; an Error if a folder or a process cannot be made: then none is left
// running.
std::vector<RankEnd> run_launch(const LaunchPlan& plan, const std::vector<std::string>& command, int grace_seconds,
                                const OptionalFunction<void(const std::string&)>& say);

// Whether this value of an option (its name without dashes) is an existing file or folder.
using NamesFile = GivenFunction<bool(const std::string& option, const std::string& value)>;
// The words of a program, a command and its arguments, with relative paths of files and folders made absolute: ranks
// run in other folders. A word that is not an option's value counts as a path if it is a file.
std::vector<std::string> with_absolute_paths(std::vector<std::string> words, const NamesFile& names_file);

}  // namespace ridgeline::train
