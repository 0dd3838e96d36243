// ridgeline/data/api/samplers.h
//
// Samplers for Dataset::sample. Each chooses among the rows below it and can be restored at every position: its draws
// depend only on seed, epoch and position.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct Sampler {
  std::string op;
  Args args;
};

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.

// Rows from `start` on, `count` of them (-1: all).
Sampler SequentialSampler(std::int64_t start = 0, std::int64_t count = -1);

struct RandomSamplerOptions {
  bool replacement = false;
  std::int64_t count = -1;                 // rows of an epoch; -1: as many as there are
  std::optional<std::uint64_t> seed = {};  // absent: the graph's
};
Sampler RandomSampler(RandomSamplerOptions options = {});

// The named rows, in their order or in a random one.
Sampler SubsetSampler(std::vector<std::int64_t> indices);
Sampler SubsetRandomSampler(std::vector<std::int64_t> indices, std::optional<std::uint64_t> seed = {});

struct WeightedSamplerOptions {
  bool replacement = true;
  std::int64_t count = -1;  // -1: as many as there are rows (without replacement: as rows with positive weight)
  std::optional<std::uint64_t> seed = {};
};
// Rows with probabilities in proportion to `weights`: one for each row, not negative, not all zero.
Sampler WeightedRandomSampler(std::vector<double> weights, WeightedSamplerOptions options = {});

struct PKSamplerOptions {
  std::int64_t classes = -1;  // P, classes of an epoch; -1: all
  bool shuffle = true;
  bool replacement = true;  // whether a row of a class may come twice
  std::optional<std::uint64_t> seed = {};
};
// P classes one after the other, K = `per_class` rows of each. Directly above a source with labels.
Sampler PKSampler(std::int64_t per_class, PKSamplerOptions options = {});

struct DistributedSamplerOptions {
  bool shuffle = true;
  std::int64_t count = -1;   // rows; -1: all of the shard
  std::int64_t offset = -1;  // rank that gets the first row; -1: 0
  bool even = true;          // equal shards: the first rows are repeated if needed
  std::optional<std::uint64_t> seed = {};
};
// MindData's rule for the shard of one rank.
Sampler DistributedSampler(std::int64_t num_shards, std::int64_t index, DistributedSamplerOptions options = {});

// NOLINTEND(readability-identifier-naming)

// The value of an order node's argument "seed": -1 for the graph's. Seeds of 2^63 and more are Errors.
std::int64_t to_seed(const std::optional<std::uint64_t>& seed);

}  // namespace ridgeline::data
