#include "ridgeline/core/control_group.h"

#include <algorithm>
#include <fstream>

namespace ridgeline {
namespace {

// `group` ("/a/b") and every group around it.
void add_folders(const std::string& hierarchy, std::string group, std::vector<std::string>& folders) {
  for (;;) {
    folders.push_back(hierarchy + (group == "/" ? "" : group));
    const std::size_t slash = group.rfind('/');
    if (group.size() <= 1 || slash == std::string::npos) return;
    group.resize(std::max<std::size_t>(slash, 1));
  }
}

}  // namespace

ControlGroups control_groups(const std::string& root, const std::string& controller) {
  // Lines "0::/group" (version 2) and "5:memory:/group" (version 1).
  std::ifstream file(root + "/proc/self/cgroup");
  ControlGroups groups;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      group = line.substr(second + 1);
    if (line.starts_with("0::")) add_folders(root + "/sys/fs/cgroup", group, groups.version_2);
    if (controllers.find("," + controller + ",") != std::string::npos)
      add_folders(root + "/sys/fs/cgroup/" + controller, group, groups.version_1);
  }
  return groups;
}

}  // namespace ridgeline
