#include <algorithm>
#include <set>

#include "ridgeline/compile/lower/places.h"
#include "tests/compile/lower/plan_change.h"

namespace ridgeline::testing {
namespace lanes {
namespace {

// Whether `to` waits for `from`, directly or indirectly.
bool waits(Plan& plan, const Section& section, int from, int to) {
  std::set<int> before;
  std::vector<int> open{to};
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    if (!before.insert(i).second) continue;
    for (int other : launch_of(plan, i).waits_for) open.push_back(other);
    for (const std::vector<int>& lane : section.lanes) {
      const auto at = std::find(lane.begin(), lane.end(), i);
      if (at != lane.end() && at != lane.begin()) open.push_back(*(at - 1));
    }
  }
  return before.contains(from);
}

bool share_bytes(Plan& plan, int a, int b) {
  const Places places(plan);
  const auto written = [&](int i) {
    std::vector<int> all = launch_of(plan, i).outputs;
    if (launch_of(plan, i).scratch >= 0) all.push_back(launch_of(plan, i).scratch);
    return all;
  };
  const auto touched = [&](int i) {
    std::vector<int> all = written(i);
    all.insert(all.end(), launch_of(plan, i).inputs.begin(), launch_of(plan, i).inputs.end());
    return all;
  };
  const auto meet = [&](const std::vector<int>& some, const std::vector<int>& others) {
    return std::any_of(some.begin(), some.end(), [&](int x) {
      return std::any_of(others.begin(), others.end(), [&](int y) { return places.of(x).meets(places.of(y)); });
    });
  };
  return meet(written(a), touched(b)) || meet(touched(a), written(b));
}

Section* some_section(Plan& plan, SampleRandom& random) {
  return plan.sections.empty()
             ? nullptr
             : &plan.sections[static_cast<std::size_t>(random.integer(0, std::ssize(plan.sections) - 1))];
}

std::optional<Undo> nobody_waited_for(Plan& plan, SampleRandom& random) {
  Section* section = some_section(plan, random);
  if (section == nullptr) return {};
  const int i = drawn_between(random, section->first, section->last - 1);
  std::vector<int>& all = launch_of(plan, i).waits_for;
  if (all.empty()) return {};
  const auto at = static_cast<std::size_t>(drawn_between(random, 0, static_cast<int>(all.size()) - 1));
  const int other = all[at];
  std::vector<int> fewer = all;
  fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at));
  Undo undo = change(all, fewer);
  if (share_bytes(plan, other, i) && !waits(plan, *section, other, i)) return undo;
  undo();
  return {};
}

std::optional<Undo> launch_in_no_lane(Plan& plan, SampleRandom& random) {
  Section* section = some_section(plan, random);
  if (section == nullptr) return {};
  std::vector<int>& lane =
      section->lanes[static_cast<std::size_t>(drawn_between(random, 0, static_cast<int>(section->lanes.size()) - 1))];
  return change(lane, std::vector<int>(lane.begin(), lane.end() - 1));
}

std::optional<Undo> launch_in_two_lanes(Plan& plan, SampleRandom& random) {
  Section* section = some_section(plan, random);
  if (section == nullptr) return {};
  std::vector<int> more = section->lanes[1];
  more.insert(std::upper_bound(more.begin(), more.end(), section->lanes[0][0]), section->lanes[0][0]);
  return change(section->lanes[1], more);
}

std::optional<Undo> lane_from_its_end_to_its_beginning(Plan& plan, SampleRandom& random) {
  Section* section = some_section(plan, random);
  if (section == nullptr || section->lanes[0].size() < 2) return {};
  return change(section->lanes[0], std::vector<int>(section->lanes[0].rbegin(), section->lanes[0].rend()));
}

std::optional<Undo> two_that_wait_for_each_other(Plan& plan, SampleRandom& random) {
  Section* section = some_section(plan, random);
  if (section == nullptr) return {};
  for (int i = section->first; i < section->last; ++i) {
    if (launch_of(plan, i).waits_for.empty()) continue;
    std::vector<int>& other = launch_of(plan, launch_of(plan, i).waits_for[0]).waits_for;
    std::vector<int> more = other;
    more.push_back(i);
    return change(other, more);
  }
  return {};
}

}  // namespace
}  // namespace lanes

std::span<const PlanMutation> lane_mutations() {
  using namespace lanes;
  static constexpr PlanMutation kAll[] = {
      {"nobody_waited_for", nobody_waited_for},
      {"launch_in_no_lane", launch_in_no_lane},
      {"launch_in_two_lanes", launch_in_two_lanes},
      {"lane_from_its_end_to_its_beginning", lane_from_its_end_to_its_beginning},
      {"two_that_wait_for_each_other", two_that_wait_for_each_other},
  };
  return kAll;
}

}  // namespace ridgeline::testing
