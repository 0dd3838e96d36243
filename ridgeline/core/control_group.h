// ridgeline/core/control_group.h
//
// Where Linux keeps the limits of the control groups (versions 1 and 2) that contain this process: containers and batch
// systems set their limits there.
#pragma once

#include <string>
#include <vector>

namespace ridgeline {

// The folders of the groups that limit the process for one controller ("memory", "cpu"), innermost first; some of them
// may not exist. Version 1 and version 2 name their files differently.
struct ControlGroups {
  std::vector<std::string> version_1;
  std::vector<std::string> version_2;
};

// Files are looked for below `root`, which tests put in place of "".
ControlGroups control_groups(const std::string& root, const std::string& controller);

}  // namespace ridgeline
