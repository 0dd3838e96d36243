#include "ridgeline/core/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <limits>

#include "ridgeline/core/control_group.h"

namespace ridgeline {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// "max", an absent file and anything except a positive number mean no limit.
std::int64_t limit_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::int64_t bytes = 0;
  if (!std::getline(file, text)) return kNoLimit;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return error == std::errc() && end == text.data() + text.size() && bytes > 0 ? bytes : kNoLimit;
}

// The limit of `ulimit -v`.
std::int64_t process_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur > static_cast<rlim_t>(kNoLimit)) return kNoLimit;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

}  // namespace

std::int64_t control_group_memory(const std::string& root) {
  const ControlGroups groups = control_groups(root, "memory");
  std::int64_t least = kNoLimit;
  for (const std::string& folder : groups.version_1)
    least = std::min(least, limit_in(folder + "/memory.limit_in_bytes"));
  for (const std::string& folder : groups.version_2) least = std::min(least, limit_in(folder + "/memory.max"));
  return least;
}

std::int64_t available_memory() {
  const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  const std::int64_t machine = pages > 0 && page > 0 ? pages * page : kNoLimit;
  return std::max<std::int64_t>(1, std::min({machine, control_group_memory(""), process_limit()}));
}

std::string byte_text(std::int64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + " bytes";
  constexpr std::array<const char*, 6> kUnits{"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1e3;
  std::size_t unit = 0;
  for (; value >= 999.95; ++unit) value /= 1e3;  // what would be printed as 1000.0 takes the next unit
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kUnits[unit]);
  return text;
}

}  // namespace ridgeline
