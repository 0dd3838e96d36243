#include "ridgeline/compile/lower/side_by_side.h"

#include <algorithm>

#include "ridgeline/compile/lower/lane_schedule.h"

namespace ridgeline {
namespace {

// By how much lanes may be slower than the whole team in the estimates, which do not include a team's cost of
// synchronization.
constexpr double kTolerance = 1.05;
// A section that does not pay within so many ops is given up.
constexpr std::size_t kMostOps = 200;

class Sections {
 public:
  Sections(const Graph& graph, const Placement& placement, int lanes, OpTeams& teams)
      : graph_(graph), placement_(placement), lanes_(lanes), teams_(teams), maker_(graph.values.size(), -1) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (ValueId id : graph.nodes[n].outputs) maker_[static_cast<std::size_t>(id)] = static_cast<int>(n);
    }
  }

  void mark() {
    for (std::size_t n = 0; n < graph_.nodes.size();) {
      const std::size_t end = best_end(n);
      for (std::size_t i = n; i < end; ++i) teams_.beside[i] = true;
      n = std::max(end, n + 1);
    }
  }

 private:
  // The end of the section that begins at `first` and gains most; `first` where none gains.
  std::size_t best_end(std::size_t first) const {
    // More lanes than cores share them; one core is shared by two.
    const int cores = std::clamp(teams_.whole / teams_.lane, 2, lanes_);
    const double slower = std::max(1.0, static_cast<double>(cores * teams_.lane) / teams_.whole);
    LaneSchedule schedule(cores);
    double alone = 0;
    double most = 0;
    std::size_t best = first;
    for (std::size_t n = first; n < std::min(graph_.nodes.size(), first + kMostOps); ++n) {
      // Exchanges begin in one order on all ranks.
      if (!placement_.devices[n]->side_by_side() || op_def(graph_.nodes[n].op).has(kCollective)) break;
      const Cost cost = op_def(graph_.nodes[n].op).has(kView) ? Cost{} : cost_of(graph_, graph_.nodes[n]);
      const DeviceRates rates = placement_.devices[n]->rates();
      schedule.add(launch_seconds(cost, teams_.lane, rates) * slower, dependencies(n, first));
      alone += launch_seconds(cost, teams_.whole, rates);
      const double gain = kTolerance * alone - schedule.end();
      if (schedule.lanes() < 2 || gain < most) continue;
      most = gain;
      best = n + 1;
    }
    return best;
  }

  std::vector<int> dependencies(std::size_t n, std::size_t first) const {
    std::vector<int> after;
    for (ValueId id : graph_.nodes[n].inputs) {
      const int made = maker_[static_cast<std::size_t>(id)] - static_cast<int>(first);
      if (made >= 0) after.push_back(made);
    }
    return after;
  }

  const Graph& graph_;
  const Placement& placement_;
  int lanes_;
  OpTeams& teams_;
  std::vector<int> maker_;  // by value: the op, -1 for arguments
};

}  // namespace

OpTeams op_teams(const Graph& graph, const Placement& placement, int lanes) {
  OpTeams teams;
  if (lanes < 2) return teams;
  teams.lane = std::max(1, teams.whole / lanes);
  teams.beside.assign(graph.nodes.size(), false);
  Sections(graph, placement, lanes, teams).mark();
  return teams;
}

}  // namespace ridgeline
