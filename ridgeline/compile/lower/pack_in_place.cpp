#include "ridgeline/compile/lower/pack_in_place.h"

#include <algorithm>

namespace ridgeline {
namespace {

bool among(const std::vector<int>& buffers, int b) {
  return std::find(buffers.begin(), buffers.end(), b) != buffers.end();
}

// Whether buffer `b` is made before the start only for it.
bool made_for(const Plan& plan, int b, std::size_t start) {
  const Buffer& lies = plan.buffers[static_cast<std::size_t>(b)];
  const Launch& exchange = plan.launches[start];
  if (lies.home != BufferHome::arena || lies.within >= 0 || lies.device != exchange.device ||
      std::count(exchange.inputs.begin(), exchange.inputs.end(), b) != 1 || among(plan.buffer_of_return, b)) {
    return false;
  }
  bool made = false;
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const Launch& launch = plan.launches[i];
    const bool writes = among(launch.outputs, b);
    if (i > start && (writes || among(launch.inputs, b))) return false;
    made = made || (i < start && writes);
  }
  return made;
}

}  // namespace

void pack_in_place(Plan& plan) {
  for (std::size_t s = 0; s < plan.launches.size(); ++s) {
    const Launch& start = plan.launches[s];
    if (start.kind != LaunchKind::start || !start.kernel) continue;
    const auto done = std::find_if(plan.launches.begin(), plan.launches.end(), [&](const Launch& launch) {
      return launch.kind == LaunchKind::done && launch.event == start.event;
    });
    if (done == plan.launches.end()) continue;
    // A result has the place of its value.
    for (std::size_t i = 0; i < done->outputs.size(); ++i) {
      if (!made_for(plan, start.inputs[i], s)) continue;
      Buffer& value = plan.buffers[static_cast<std::size_t>(start.inputs[i])];
      const Buffer& result = plan.buffers[static_cast<std::size_t>(done->outputs[i])];
      value.within = result.within;
      value.within_offset = result.within_offset;
    }
  }
}

}  // namespace ridgeline
