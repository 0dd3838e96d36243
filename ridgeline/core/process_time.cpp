#include "ridgeline/core/process_time.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace ridgeline {

double process_milliseconds() {
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');  // the second field may hold anything
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 21; ++i) fields >> field;
  double ticks = 0;  // field 22: since the machine was started
  if (!(fields >> ticks)) return 0;
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const double milliseconds = 1e3 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e6;
  return std::max(0.0, milliseconds - 1e3 * ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

}  // namespace ridgeline
