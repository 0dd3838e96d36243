#include "ridgeline/data/api/samplers.h"
#include "ridgeline/data/ir/node_names.h"

#include <fmt/format.h>

#include <limits>

namespace ridgeline::data {

std::int64_t to_seed(const std::optional<std::uint64_t>& seed) {
  if (!seed) return -1;
  if (*seed > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw Error(fmt::format("seed is {}, it must be below 2^63", *seed));
  return static_cast<std::int64_t>(*seed);
}

Sampler SequentialSampler(std::int64_t start, std::int64_t count) {
  return {node_name::kSequentialSampler, {{"start", start}, {"count", count}}};
}

Sampler RandomSampler(RandomSamplerOptions options) {
  return {node_name::kRandomSampler,
          {{"replacement", options.replacement}, {"count", options.count}, {"seed", to_seed(options.seed)}}};
}

Sampler SubsetSampler(std::vector<std::int64_t> indices) {
  return {node_name::kSubsetSampler, {{"indices", std::move(indices)}}};
}
Sampler SubsetRandomSampler(std::vector<std::int64_t> indices, std::optional<std::uint64_t> seed) {
  return {node_name::kSubsetRandomSampler, {{"indices", std::move(indices)}, {"seed", to_seed(seed)}}};
}

Sampler WeightedRandomSampler(std::vector<double> weights, WeightedSamplerOptions options) {
  return {node_name::kWeightedSampler,
          {{"weights", std::move(weights)},
           {"replacement", options.replacement},
           {"count", options.count},
           {"seed", to_seed(options.seed)}}};
}

Sampler PKSampler(std::int64_t per_class, PKSamplerOptions options) {
  return {node_name::kPkSampler,
          {{"per_class", per_class},
           {"classes", options.classes},
           {node_name::kShuffle, options.shuffle},
           {"replacement", options.replacement},
           {"seed", to_seed(options.seed)}}};
}

Sampler DistributedSampler(std::int64_t num_shards, std::int64_t index, DistributedSamplerOptions options) {
  return {node_name::kDistributedSampler,
          {{"num_shards", num_shards},
           {"index", index},
           {node_name::kShuffle, options.shuffle},
           {"count", options.count},
           {"seed", to_seed(options.seed)},
           {"offset", options.offset},
           {"even", options.even}}};
}

}  // namespace ridgeline::data
