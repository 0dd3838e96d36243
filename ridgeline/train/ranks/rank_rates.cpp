#include "ridgeline/train/ranks/rank_rates.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <vector>

namespace ridgeline::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kLarge = 8 << 20;
constexpr int kSmallCalls = 51, kLargeCalls = 7;

// The median time of some gathers of `bytes` in all.
double gather_seconds(comm::Communicator& ranks, std::int64_t bytes, int calls) {
  const std::int64_t own = std::max<std::int64_t>(1, bytes / ranks.size());
  std::vector<char> mine(static_cast<std::size_t>(own), 1), all(mine.size() * static_cast<std::size_t>(ranks.size()));
  std::vector<double> seconds;
  for (int i = 0; i < calls; ++i) {
    ranks.barrier();
    const auto begin = Clock::now();
    ranks.all_gather(mine.data(), all.data(), own);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  const auto middle = seconds.begin() + calls / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

}  // namespace

RankRates measure_rates(comm::Communicator& ranks, Device& device) {
  ranks.barrier();
  const DeviceRates usual = device.measured_rates().usual;
  ranks.barrier();
  const double small = gather_seconds(ranks, 64, kSmallCalls), large = gather_seconds(ranks, kLarge, kLargeCalls);
  std::array<double, 4> seconds = {1 / usual.f32_flops, 1 / usual.memory_bytes, small, large};
  ranks.all_reduce(seconds.data(), seconds.size(), DType::f64, comm::Reduction::max);
  const auto size = static_cast<double>(ranks.size());
  const double moving = std::max(seconds[3] - seconds[2], 1e-9);
  return {.flops = 1 / seconds[0],
          .memory_bytes = 1 / seconds[1],
          .exchange_bytes = (size - 1) / size * static_cast<double>(kLarge) / moving,
          .exchange_latency = 0,
          .call_seconds = seconds[2]};
}

RankRates rates_of(const comm::Cluster& cluster, const RankRates& device) {
  RankRates rates = device;
  const bool network = cluster.nodes > 1;
  rates.exchange_bytes = cluster.inside.bytes_per_second;
  rates.exchange_latency = cluster.inside.seconds;
  if (network) {
    const double between = cluster.between.bytes_per_second;
    rates.exchange_bytes = cluster.ranks_per_node == 1 ? between : std::min(rates.exchange_bytes, between);
    // Each node is entered once a round.
    const double steps = cluster.ranks() - 1.0, entered = std::min<double>(steps, cluster.nodes);
    rates.exchange_latency = ((steps - entered) * cluster.inside.seconds + entered * cluster.between.seconds) / steps;
  }
  // As in comm/model/all_reduce_cost.h: along each node's chain, then from node to node.
  rates.tree_seconds = (cluster.ranks_per_node - 1) * cluster.inside.seconds;
  if (network) rates.tree_seconds += std::ceil(std::log2(cluster.nodes)) * cluster.between.seconds;
  rates.call_seconds = cluster.call_seconds;
  return rates;
}

}  // namespace ridgeline::train
