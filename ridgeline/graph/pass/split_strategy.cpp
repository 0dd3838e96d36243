#include "ridgeline/graph/pass/split_strategy.h"

#include <cmath>
#include <numeric>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

constexpr std::int64_t kMostIndex = (std::int64_t{1} << 32) - 1;

[[noreturn]] void refuse_split(const std::string& text) { throw Error("[split strategy] " + text, ErrorKind::usage); }

void check_length(std::size_t length, const char* list) {
  if (length == 0) refuse_split(std::string(list) + " length is 0");
  if (length > kMostBuckets) {
    refuse_split(std::string(list) + " has " + std::to_string(length) + " segments (allowed: at most " +
                 std::to_string(kMostBuckets) + ")");
  }
}

}  // namespace

SplitStrategy SplitStrategy::by_indices(std::vector<std::int64_t> indices) {
  check_length(indices.size(), "idxList");
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] > kMostIndex)
      refuse_split("idx val[" + std::to_string(indices[i]) + "] is out of range (allowed: 0 to " +
                   std::to_string(kMostIndex) + ")");
    if (i > 0 && indices[i] <= indices[i - 1]) refuse_split("idx in idxList is not ascending");
  }
  return {.by_index = std::move(indices), .by_size = {}};
}

SplitStrategy SplitStrategy::by_sizes(std::vector<double> percentages) {
  check_length(percentages.size(), "dataSizeList");
  for (const double share : percentages) {
    if (!(share >= 0) || !std::isfinite(share))
      refuse_split("size percentage " + std::to_string(share) + " is negative");
  }
  const double sum = std::accumulate(percentages.begin(), percentages.end(), 0.0);
  if (std::abs(sum - 100) > 1e-6) refuse_split("size percentage list sum is not 100%");
  return {.by_index = {}, .by_size = std::move(percentages)};
}

std::vector<std::size_t> bucket_ends(std::span<const std::size_t> bytes, const SplitStrategy& strategy) {
  std::vector<std::size_t> ends;
  if (bytes.empty()) return ends;
  if (strategy.by_size.empty() && !strategy.by_index.empty()) {
    if (strategy.by_index.back() != static_cast<std::int64_t>(bytes.size()) - 1) {
      refuse_split("idxList ends at " + std::to_string(strategy.by_index.back()) + ", and the last of " +
                   std::to_string(bytes.size()) + " gradients is " + std::to_string(bytes.size() - 1));
    }
    for (const std::int64_t last : strategy.by_index) ends.push_back(static_cast<std::size_t>(last) + 1);
    return ends;
  }
  const std::span<const double> shares =
      strategy.by_size.empty() ? std::span<const double>(kDefaultSplit) : std::span<const double>(strategy.by_size);
  const auto total = static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}));
  // Each bucket ends with the gradient that comes nearest to its share of the bytes; the last takes what is left.
  double wanted = 0, done = 0;
  std::size_t at = 0;
  for (std::size_t s = 0; s + 1 < shares.size(); ++s) {
    wanted += total * shares[s] / 100;
    while (at < bytes.size() && std::abs(done + static_cast<double>(bytes[at]) - wanted) <= std::abs(done - wanted))
      done += static_cast<double>(bytes[at++]);
    if (at > 0 && (ends.empty() || ends.back() < at)) ends.push_back(at);
  }
  if (ends.empty() || ends.back() < bytes.size()) ends.push_back(bytes.size());
  return ends;
}

std::string segments_text(std::span<const std::size_t> ends) {
  std::string text;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    text += (text.empty() ? "[" : " [") + std::to_string(begin) + "," + std::to_string(end - 1) + "]";
    begin = end;
  }
  return text;
}

}  // namespace ridgeline
