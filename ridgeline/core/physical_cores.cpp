#include "ridgeline/core/physical_cores.h"

#include <fstream>
#include <set>

namespace ridgeline {

int physical_cores(const std::vector<int>& processors, const std::string& root) {
  std::set<std::string> cores;
  for (const int processor : processors) {
    const std::string number = std::to_string(processor);
    std::ifstream file(root + "/sys/devices/system/cpu/cpu" + number + "/topology/thread_siblings_list");
    std::string siblings;  // "0,16": the same for each of them
    cores.insert(std::getline(file, siblings) && !siblings.empty() ? siblings : number);
  }
  return static_cast<int>(cores.size());
}

}  // namespace ridgeline
