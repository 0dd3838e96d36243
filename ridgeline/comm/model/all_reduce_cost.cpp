#include "ridgeline/comm/model/all_reduce_cost.h"

#include <algorithm>
#include <cmath>

namespace ridgeline::comm {
namespace {

// Of the links that a path over all ranks uses: with one rank a node there are no inner links.
double slowest_rate(const Cluster& c) {
  if (c.nodes == 1) return c.inside.bytes_per_second;
  if (c.ranks_per_node == 1) return c.between.bytes_per_second;
  return std::min(c.inside.bytes_per_second, c.between.bytes_per_second);
}

}  // namespace

std::string_view name_of(ReduceAlgorithm algorithm) {
  constexpr std::string_view kNames[] = {"ring", "double tree", "by node"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

double ring_seconds(const Cluster& c, double bytes) {
  const double p = c.ranks(), steps = 2 * (p - 1), between = c.nodes > 1 ? std::min(steps, 2.0 * c.nodes) : 0;
  const double rate = slowest_rate(c);
  return (steps - between) * c.inside.seconds + between * c.between.seconds + 2 * (p - 1) / p * bytes / rate;
}

double double_tree_seconds(const Cluster& c, double bytes) {
  if (c.ranks() == 1) return 0;
  const double levels = std::ceil(std::log2(static_cast<double>(c.nodes)));
  const double rate = slowest_rate(c);
  return 2 * (c.ranks_per_node - 1) * c.inside.seconds + 2 * levels * c.between.seconds + 2 * bytes / rate;
}

double by_node_seconds(const Cluster& c, double bytes) {
  const double k = c.ranks_per_node, m = c.nodes;
  return 2 * (k - 1) * c.inside.seconds + 2 * (k - 1) / k * bytes / c.inside.bytes_per_second +
         2 * (m - 1) * c.between.seconds + 2 * (m - 1) / m * bytes / c.between.bytes_per_second;
}

ReduceCost all_reduce_cost(const Cluster& c, double bytes) {
  if (c.ranks() == 1) return {};
  const ReduceCost all[] = {{ring_seconds(c, bytes), ReduceAlgorithm::ring},
                            {double_tree_seconds(c, bytes), ReduceAlgorithm::double_tree},
                            {by_node_seconds(c, bytes), ReduceAlgorithm::by_node}};
  ReduceCost best = *std::min_element(std::begin(all), std::end(all),
                                      [](const ReduceCost& a, const ReduceCost& b) { return a.seconds < b.seconds; });
  best.seconds += c.call_seconds;
  return best;
}

}  // namespace ridgeline::comm
