// ridgeline/train/launch/launch.h
//
// Starts the processes of a plan and waits for them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ridgeline/core/given_function.h"
#include "ridgeline/train/launch/launch_plan.h"

namespace ridgeline::train {

// Exit code of a run that has saved and left since somebody asked it to.
inline constexpr int kInterruptedCode = 130;

struct RankEnd {
  std::string name;      // as in the plan
  int code = 0;          // exit code, or 128 + signal
  int turn = 0;          // how many had ended before
  bool stopped = false;  // by the launcher, since another rank had failed
};

// Each rank runs `command` (a program and its words); its folder is made where it is not there and never emptied. Its
// output goes to the end of its log, whose last line becomes `turing train success` or `turing train fail`;
// env_<device>.log is its environment. When a rank fails, the others have `grace_seconds` to end by themselves, then
// they are terminated. They end with this process, however it ends. `say` gets a line for each start and end.
// interrupt() of this process (interrupt.h) is handed on once, as SIGTERM: ranks that train save and end by
// kInterruptedCode.
//
// Returns the ends in the order of the ranks; an Error where a folder or a process cannot be made: then none is left.
std::vector<RankEnd> run_launch(const LaunchPlan& plan, const std::vector<std::string>& command, int grace_seconds,
                                const OptionalFunction<void(const std::string&)>& say);

// Whether an option (its name without dashes) is given a file or folder that is there by this value.
using NamesFile = GivenFunction<bool(const std::string& option, const std::string& value)>;
// Words of a program, a command and what follows it. Those that name a file or folder from here by its absolute path:
// ranks run in other folders. What is no option's value counts where it is a file.
std::vector<std::string> with_absolute_paths(std::vector<std::string> words, const NamesFile& names_file);

}  // namespace ridgeline::train
