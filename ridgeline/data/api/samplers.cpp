#include "ridgeline/data/api/samplers.h"

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
  return {"sequential_sampler", {{"start", start}, {"count", count}}};
}

Sampler RandomSampler(RandomSamplerOptions options) {
  return {"random_sampler",
          {{"replacement", options.replacement}, {"count", options.count}, {"seed", to_seed(options.seed)}}};
}

Sampler SubsetSampler(std::vector<std::int64_t> indices) {
  return {"subset_sampler", {{"indices", std::move(indices)}}};
}
Sampler SubsetRandomSampler(std::vector<std::int64_t> indices, std::optional<std::uint64_t> seed) {
  return {"subset_random_sampler", {{"indices", std::move(indices)}, {"seed", to_seed(seed)}}};
}

Sampler WeightedRandomSampler(std::vector<double> weights, WeightedSamplerOptions options) {
  return {"weighted_sampler",
          {{"weights", std::move(weights)},
           {"replacement", options.replacement},
           {"count", options.count},
           {"seed", to_seed(options.seed)}}};
}

Sampler PKSampler(std::int64_t per_class, PKSamplerOptions options) {
  return {"pk_sampler",
          {{"per_class", per_class},
           {"classes", options.classes},
           {"shuffle", options.shuffle},
           {"replacement", options.replacement},
           {"seed", to_seed(options.seed)}}};
}

Sampler DistributedSampler(std::int64_t num_shards, std::int64_t index, DistributedSamplerOptions options) {
  return {"distributed_sampler",
          {{"num_shards", num_shards},
           {"index", index},
           {"shuffle", options.shuffle},
           {"count", options.count},
           {"seed", to_seed(options.seed)},
           {"offset", options.offset},
           {"even", options.even}}};
}

}  // namespace ridgeline::data
