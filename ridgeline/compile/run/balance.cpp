#include "ridgeline/compile/run/balance.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "ridgeline/core/threads.h"

namespace ridgeline {
namespace {

double sum(const std::vector<double>& seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

// Elements cost alike, so the largest chunk is the longest; times of short chunks are the clock's noise.
double of_chunks(const TeamRegion& region) {
  const auto all = std::accumulate(region.sizes.begin(), region.sizes.end(), std::int64_t{0});
  const auto largest = *std::max_element(region.sizes.begin(), region.sizes.end());
  return sum(region.seconds) * static_cast<double>(largest) / static_cast<double>(all);
}

// The thread that is free first takes the next item of its run, or of the next run that has one, as parallel_items
// does.
double of_items(const TeamRegion& region) {
  const auto n = static_cast<std::int64_t>(region.seconds.size());
  const std::int64_t runs = std::min<std::int64_t>(region.threads, kMostRuns);
  std::vector<std::int64_t> next;
  for (std::int64_t run = 0; run < runs; ++run) next.push_back(run_border(n, run, runs));
  using Free = std::pair<double, std::int64_t>;  // when, which thread
  std::priority_queue<Free, std::vector<Free>, std::greater<>> threads;
  for (std::int64_t thread = 0; thread < region.threads; ++thread) threads.emplace(0.0, thread);
  double last = 0;
  while (!threads.empty()) {
    const auto [time, thread] = threads.top();
    threads.pop();
    last = std::max(last, time);
    for (std::int64_t i = 0; i < runs; ++i) {
      const std::int64_t run = (thread + i) % runs;
      if (next[static_cast<std::size_t>(run)] == run_border(n, run + 1, runs)) continue;
      const auto item = static_cast<std::size_t>(next[static_cast<std::size_t>(run)]++);
      threads.emplace(time + region.seconds[item], thread);
      break;
    }
  }
  return last;
}

double largest_share(const TeamRegion& region) {
  const double all = sum(region.seconds);
  if (region.dealt == TeamRegion::Dealt::chunks) return all > 0 ? of_chunks(region) / all : 0;
  return all > 0 ? *std::max_element(region.seconds.begin(), region.seconds.end()) / all : 0;
}

}  // namespace

double team_seconds(const TeamRegion& region) {
  if (region.seconds.empty()) return 0;
  switch (region.dealt) {
    case TeamRegion::Dealt::chunks: return of_chunks(region);
    case TeamRegion::Dealt::items: return of_items(region);
    case TeamRegion::Dealt::bodies: break;
  }
  return *std::max_element(region.seconds.begin(), region.seconds.end());
}

LaunchBalance balance_of(const TeamWork& work) {
  LaunchBalance balance;
  balance.serial = balance.seconds = balance.longest = work.serial_seconds;
  balance.library = work.library;
  double longest = -1;
  for (const TeamRegion& region : work.regions) {
    const double seconds = team_seconds(region);
    ++balance.barriers;
    balance.seconds += sum(region.seconds);
    balance.longest += seconds;
    if (seconds <= longest || region.seconds.empty()) continue;
    longest = seconds;
    balance.items = static_cast<std::int64_t>(region.seconds.size());
    balance.largest_share = largest_share(region);
  }
  return balance;
}

StepBalance balance_of(std::span<const LaunchReport> launches, int threads) {
  StepBalance step{.threads = threads};
  for (const LaunchReport& launch : launches) {
    step.launches.push_back(launch.ran ? balance_of(launch.work) : LaunchBalance{});
    const LaunchBalance& balance = step.launches.back();
    step.seconds += balance.seconds;
    (balance.library ? step.library_seconds : step.longest) += balance.library ? balance.seconds : balance.longest;
  }
  return step;
}

void take_least(TeamWork& least, const TeamWork& other) {
  const auto alike = [](const TeamRegion& a, const TeamRegion& b) { return a.seconds.size() == b.seconds.size(); };
  if (!std::equal(least.regions.begin(), least.regions.end(), other.regions.begin(), other.regions.end(), alike)) {
    least = other;
    return;
  }
  least.serial_seconds = std::min(least.serial_seconds, other.serial_seconds);
  for (std::size_t r = 0; r < least.regions.size(); ++r) {
    std::vector<double>& seconds = least.regions[r].seconds;
    std::transform(seconds.begin(), seconds.end(), other.regions[r].seconds.begin(), seconds.begin(),
                   [](double a, double b) { return std::min(a, b); });
  }
}

void level(TeamWork& work) {
  constexpr double kMore = 1.5;
  for (TeamRegion& region : work.regions) {
    if (region.seconds.empty()) continue;
    std::vector<double> sorted = region.seconds;
    const auto middle = sorted.begin() + std::ssize(sorted) / 2;
    std::nth_element(sorted.begin(), middle, sorted.end());
    for (double& seconds : region.seconds) {
      if (seconds > *middle && seconds < kMore * *middle) seconds = *middle;
    }
  }
}

}  // namespace ridgeline
