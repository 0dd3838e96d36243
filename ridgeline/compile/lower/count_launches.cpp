#include "ridgeline/compile/lower/count_launches.h"

#include <set>

namespace ridgeline {

LaunchCounts count_launches(const Plan& plan) {
  LaunchCounts counts;
  const auto bytes = [&](int buffer) { return plan.buffers[static_cast<std::size_t>(buffer)].bytes; };
  for (const Launch& launch : plan.launches) {
    if (launch.constant) continue;
    ++counts.launches;
    for (int b : std::set<int>(launch.inputs.begin(), launch.inputs.end())) counts.read += bytes(b);
    for (int b : launch.outputs) counts.written += bytes(b);
  }
  return counts;
}

}  // namespace ridgeline
