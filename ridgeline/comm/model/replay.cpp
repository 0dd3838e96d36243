#include "ridgeline/comm/model/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "ridgeline/core/error.h"

namespace ridgeline::comm {
namespace {

// All partitions are compared: more would take minutes.
constexpr int kMostBuckets = 64;
constexpr std::size_t kMostGradients = 1000;

// For each launch that finishes gradients: when, on a device that exchanges nothing, and their bytes.
struct Gradient {
  double ready = 0;
  std::int64_t bytes = 0;
};

std::vector<Gradient> gradients_of(const StepTimeline& timeline) {
  std::vector<Gradient> gradients;
  double now = 0;
  for (const StepPart& part : timeline.parts) {
    if (!part.update) now += part.seconds;
    if (part.gradient_bytes > 0) gradients.push_back({now, part.gradient_bytes});
  }
  return gradients;
}

double seconds_of(const StepTimeline& timeline, bool updates) {
  double seconds = 0;
  for (const StepPart& part : timeline.parts) seconds += part.update == updates ? part.seconds : 0;
  return seconds;
}

}  // namespace

double StepTimeline::seconds() const { return seconds_of(*this, false) + seconds_of(*this, true); }

std::int64_t StepTimeline::gradient_bytes() const {
  std::int64_t bytes = 0;
  for (const StepPart& part : parts) bytes += part.gradient_bytes;
  return bytes;
}

StepTimeline scaled(StepTimeline timeline, double factor) {
  for (StepPart& part : timeline.parts) part.seconds *= factor;
  return timeline;
}

double Replay::hidden_share() const {
  if (exchange_seconds == 0) return 1;
  return std::clamp(1 - (step_seconds - compute_seconds) / exchange_seconds, 0.0, 1.0);
}

Replay replay(const StepTimeline& timeline, const Cluster& cluster, const std::vector<int>& lasts) {
  const std::vector<Gradient> gradients = gradients_of(timeline);
  const int count = static_cast<int>(gradients.size());
  const bool ascending = std::adjacent_find(lasts.begin(), lasts.end(), std::greater_equal<>()) == lasts.end();
  if (!ascending || (!lasts.empty() && lasts.front() < 0) || (lasts.empty() ? 0 : lasts.back() + 1) != count)
    throw Error(fmt::format("[plan] buckets must end at ascending gradients, the last one at {}", count - 1),
                ErrorKind::usage);
  Replay result;
  result.compute_seconds = timeline.seconds();
  const double backward = seconds_of(timeline, false), updates = seconds_of(timeline, true);
  const auto all_bytes = static_cast<double>(timeline.gradient_bytes());
  double wire = 0, device = backward;
  int next = 0;
  for (const int last : lasts) {
    Bucket bucket{.last = last};
    for (; next <= last; ++next) bucket.bytes += gradients[static_cast<std::size_t>(next)].bytes;
    const ReduceCost cost = all_reduce_cost(cluster, static_cast<double>(bucket.bytes));
    bucket.algorithm = cost.algorithm;
    bucket.ready = gradients[static_cast<std::size_t>(last)].ready;
    bucket.start = std::max(bucket.ready, wire);
    bucket.end = wire = bucket.start + cost.seconds;
    result.exchange_seconds += cost.seconds;
    // Its updates, by its share of the bytes, after the backward pass and the updates before.
    device = std::max(device, bucket.end) + updates * static_cast<double>(bucket.bytes) / all_bytes;
    result.buckets.push_back(bucket);
  }
  result.step_seconds = lasts.empty() ? result.compute_seconds : device;
  result.serial_seconds = result.compute_seconds + result.exchange_seconds;
  return result;
}

std::vector<int> buckets_of_size(const StepTimeline& timeline, std::int64_t bytes) {
  const std::vector<Gradient> gradients = gradients_of(timeline);
  std::vector<int> lasts;
  std::int64_t held = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    held += gradients[i].bytes;
    if (held < bytes && i + 1 < gradients.size()) continue;
    lasts.push_back(static_cast<int>(i));
    held = 0;
  }
  return lasts;
}

std::vector<int> best_buckets(const StepTimeline& timeline, const Cluster& cluster, int most) {
  if (most < 1 || most > kMostBuckets)
    throw Error(fmt::format("[plan] {} buckets (allowed: 1 to {})", most, kMostBuckets), ErrorKind::usage);
  const std::vector<Gradient> gradients = gradients_of(timeline);
  if (gradients.size() > kMostGradients)
    throw Error(fmt::format("[plan] {} launches finish gradients (at most {})", gradients.size(), kMostGradients),
                ErrorKind::usage);
  const std::size_t n = gradients.size(), levels = std::min(n, static_cast<std::size_t>(most));
  if (n == 0) return {};
  std::vector<double> bytes_before(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) bytes_before[i + 1] = bytes_before[i] + static_cast<double>(gradients[i].bytes);
  // ends[b][i]: the earliest end of exchanging the first i gradients, in b buckets; from[b][i]: where the last one
  // begins.
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> ends(levels + 1, std::vector<double>(n + 1, kNever));
  std::vector<std::vector<std::size_t>> from(levels + 1, std::vector<std::size_t>(n + 1, 0));
  ends[0][0] = 0;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double cost = all_reduce_cost(cluster, bytes_before[i] - bytes_before[j]).seconds;
      for (std::size_t b = 1; b <= levels; ++b) {
        const double end = std::max(ends[b - 1][j], gradients[i - 1].ready) + cost;
        if (end < ends[b][i]) {
          ends[b][i] = end;
          from[b][i] = j;
        }
      }
    }
  }
  std::vector<int> best;
  double least = kNever;
  for (std::size_t buckets = 1; buckets <= levels; ++buckets) {
    std::vector<int> lasts;
    for (std::size_t b = buckets, i = n; b > 0; i = from[b][i], --b) lasts.push_back(static_cast<int>(i) - 1);
    std::reverse(lasts.begin(), lasts.end());
    const double seconds = replay(timeline, cluster, lasts).step_seconds;
    if (seconds >= least) continue;
    least = seconds;
    best = std::move(lasts);
  }
  return best;
}

std::int64_t best_bucket_size(const StepTimeline& timeline, const Cluster& cluster) {
  const std::int64_t all = timeline.gradient_bytes();
  std::int64_t best = std::max<std::int64_t>(1, all);
  double least = replay(timeline, cluster, buckets_of_size(timeline, best)).step_seconds;
  for (std::int64_t size = 64 << 10; size < all; size *= 2) {
    const double seconds = replay(timeline, cluster, buckets_of_size(timeline, size)).step_seconds;
    if (seconds < least) {
      least = seconds;
      best = size;
    }
  }
  return best;
}

}  // namespace ridgeline::comm
