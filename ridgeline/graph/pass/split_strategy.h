// ridgeline/graph/pass/split_strategy.h
//
// Into which buckets the gradients of a step are divided; a bucket's gradients are exchanged together, in the order in
// which the backward pass makes them. Given by indices, by shares of the bytes, or as the original does by default. A
// plain value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ridgeline {

struct SplitStrategy {
  std::vector<std::int64_t> by_index = {};  // the last gradient of each bucket: 20, 100, 159
  std::vector<double> by_size = {};         // each bucket's per cent of the bytes, 100 in all; overrides the indices

  // Errors (usage), in the original's words: `idxList length is 0`, `idx in idxList is not ascending`, `size percentage
  // list sum is not 100%` and so on.
  static SplitStrategy by_indices(std::vector<std::int64_t> indices);
  static SplitStrategy by_sizes(std::vector<double> percentages);
};

// Without a strategy: a small last bucket, so that little is exchanged after the end of the backward pass.
inline constexpr double kDefaultSplit[] = {96.54, 3.46};
inline constexpr std::size_t kMostBuckets = 8;

// The end of each bucket, by the bytes of the gradients: [0, ends[0]), [ends[0], ends[1]) and so on. None is empty.
// Given by index, the last bucket must end at the last gradient (else an Error, usage).
std::vector<std::size_t> bucket_ends(std::span<const std::size_t> bytes, const SplitStrategy& strategy);

// "[0,107] [108,159]", as the original's log has it.
std::string segments_text(std::span<const std::size_t> ends);

}  // namespace ridgeline
