#include "ridgeline/compile/lower/lanes.h"

#include <algorithm>

#include "ridgeline/compile/lower/lane_schedule.h"

namespace ridgeline {
namespace {

bool meet(const std::vector<Touch>& a, const std::vector<Touch>& b) {
  for (const Touch& x : a) {
    for (const Touch& y : b) {
      if ((x.writes || y.writes) && x.place.meets(y.place)) return true;
    }
  }
  return false;
}

void assign(Plan& plan, Section& section, int lanes, const Places& places) {
  std::vector<std::vector<Touch>> touched;
  std::vector<int> lane_of;
  LaneSchedule schedule(lanes);
  section.lanes.assign(static_cast<std::size_t>(lanes), {});
  // By lane: up to which launch of each other lane its launches have waited.
  std::vector<std::vector<int>> waited(static_cast<std::size_t>(lanes),
                                       std::vector<int>(static_cast<std::size_t>(lanes), -1));
  for (int i = section.first; i < section.last; ++i) {
    Launch& launch = plan.launches[static_cast<std::size_t>(i)];
    touched.push_back(touches(launch, places));
    std::vector<int> after;
    for (int j = 0; j < i - section.first; ++j) {
      if (meet(touched[static_cast<std::size_t>(j)], touched.back())) after.push_back(j);
    }
    const int lane = schedule.add(launch_seconds(cost_of(plan, launch), plan.lane_team, launch.device->rates()), after);
    section.lanes[static_cast<std::size_t>(lane)].push_back(i);
    lane_of.push_back(lane);
    // The last one of each lane implies those before it.
    std::vector<int>& known = waited[static_cast<std::size_t>(lane)];
    for (auto j = after.rbegin(); j != after.rend(); ++j) {
      const int other = lane_of[static_cast<std::size_t>(*j)];
      if (other == lane || known[static_cast<std::size_t>(other)] >= *j) continue;
      known[static_cast<std::size_t>(other)] = *j;
      launch.waits_for.push_back(*j + section.first);
    }
  }
  std::erase_if(section.lanes, [](const std::vector<int>& launches) { return launches.empty(); });
}

}  // namespace

std::vector<Touch> touches(const Launch& launch, const Places& places) {
  std::vector<Touch> all;
  for (int b : launch.inputs) all.push_back({places.of(b), false});
  for (int b : launch.outputs) all.push_back({places.of(b), true});
  if (launch.scratch >= 0) all.push_back({places.of(launch.scratch), true});
  return all;
}

void find_sections(Plan& plan) {
  const int count = static_cast<int>(plan.launches.size());
  const auto beside = [&](int i) { return plan.launches[static_cast<std::size_t>(i)].beside; };
  for (int i = 0; i < count;) {
    int end = i;
    while (end < count && beside(end)) ++end;
    if (end - i > 1) plan.sections.push_back({i, end, {}});
    i = std::max(end, i + 1);
  }
}

void assign_lanes(Plan& plan, int lanes) {
  const Places places(plan);
  for (Section& section : plan.sections) assign(plan, section, lanes, places);
  // What has only one lane runs in order anyway.
  std::erase_if(plan.sections, [](const Section& section) { return section.lanes.size() < 2; });
}

Cost cost_of(const Plan& plan, const Launch& launch) {
  if ((launch.kind == LaunchKind::kernel || launch.kind == LaunchKind::start) && !launch.converts && launch.node >= 0) {
    return cost_of(plan.graph, plan.graph.nodes[static_cast<std::size_t>(launch.node)]);
  }
  if (launch.kind == LaunchKind::done) return {};
  return {0, 2.0 * static_cast<double>(plan.buffers[static_cast<std::size_t>(launch.inputs[0])].bytes)};
}

}  // namespace ridgeline
