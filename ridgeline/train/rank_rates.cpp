#include "ridgeline/train/rank_rates.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "ridgeline/device/cpu/limits.h"

namespace ridgeline::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kLarge = 8 << 20;
constexpr int kSmallCalls = 50, kLargeCalls = 3;

// The fastest of some gathers of `bytes` in all.
double gather_seconds(comm::Communicator& ranks, std::int64_t bytes, int calls) {
  const std::int64_t own = std::max<std::int64_t>(1, bytes / ranks.size());
  std::vector<char> mine(static_cast<std::size_t>(own), 1), all(mine.size() * static_cast<std::size_t>(ranks.size()));
  double least = 1e9;
  for (int i = 0; i < calls; ++i) {
    ranks.barrier();
    const auto begin = Clock::now();
    ranks.all_gather(mine.data(), all.data(), own);
    least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return least;
}

}  // namespace

RankRates measure_rates(comm::Communicator& ranks) {
  ranks.barrier();
  const device::MachineLimits limits = device::measure_limits();
  const double small = gather_seconds(ranks, 64, kSmallCalls), large = gather_seconds(ranks, kLarge, kLargeCalls);
  std::array<double, 4> seconds = {1 / (limits.f32_gflops * 1e9), 1 / (limits.gigabytes * 1e9), small, large};
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
    rates.exchange_bytes = std::min(rates.exchange_bytes, cluster.between.bytes_per_second);
    // Each node is entered once a round.
    const double steps = cluster.ranks() - 1.0;
    rates.exchange_latency =
        ((steps - cluster.nodes) * cluster.inside.seconds + cluster.nodes * cluster.between.seconds) / steps;
  }
  rates.call_seconds = cluster.call_seconds;
  return rates;
}

}  // namespace ridgeline::train
