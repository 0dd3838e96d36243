#include "ridgeline/core/memory.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>

namespace ridgeline {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// "max", an absent file and anything but a positive number are no limit.
std::int64_t limit_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::int64_t bytes = 0;
  if (!std::getline(file, text)) return kNoLimit;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return error == std::errc() && end == text.data() + text.size() && bytes > 0 ? bytes : kNoLimit;
}

// Of `group` ("/a/b") and every group around it.
std::int64_t least_limit(const std::string& hierarchy, std::string group, const std::string& file) {
  std::int64_t least = kNoLimit;
  for (;;) {
    least = std::min(least, limit_in(hierarchy + (group == "/" ? "" : group) + "/" + file));
    const std::size_t slash = group.rfind('/');
    if (group.size() <= 1 || slash == std::string::npos) return least;
    group.resize(std::max<std::size_t>(slash, 1));
  }
}

}  // namespace

std::int64_t control_group_memory(const std::string& root) {
  // Lines "0::/group" (version 2) and "5:memory:/group" (version 1).
  std::ifstream groups(root + "/proc/self/cgroup");
  std::int64_t least = kNoLimit;
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      group = line.substr(second + 1);
    if (line.starts_with("0::")) least = std::min(least, least_limit(root + "/sys/fs/cgroup", group, "memory.max"));
    if (controllers.find(",memory,") != std::string::npos)
      least = std::min(least, least_limit(root + "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
  }
  return least;
}

std::int64_t available_memory() {
  const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  const std::int64_t machine = pages > 0 && page > 0 ? pages * page : kNoLimit;
  return std::max<std::int64_t>(1, std::min(machine, control_group_memory("")));
}

}  // namespace ridgeline
