// MindData's samplers. Their rule is that of the sampler nodes; seeds are only written for DistributedSampler.
#include "ridgeline/data/minddata/forms.h"

namespace ridgeline::data {
namespace {

using Rule = MindDataRule;

MindDataField num_samples() { return {"num_samples", "count", Rule::count}; }
MindDataField no_seed() {
  return {"", "seed", Rule::same, std::int64_t{-1}, "MindData does not write the seed of this sampler down"};
}

}  // namespace

const std::vector<MindDataForm>& minddata_samplers() {
  static const std::vector<MindDataForm> forms{
      {"SequentialSampler", "sequential_sampler", {{"start_index", "start"}, num_samples()}},
      {"RandomSampler",
       "random_sampler",
       {{"replacement", "replacement"},
        num_samples(),
        {"reshuffle_each_epoch", "", Rule::same, true, "every epoch has an order of its own here"},
        no_seed()}},
      {"WeightedRandomSampler",
       "weighted_sampler",
       {{"weights", "weights"}, {"replacement", "replacement"}, num_samples(), no_seed()}},
      // num_samples takes the first ones: the reader shortens or adds a sequential_sampler.
      {"SubsetSampler", "subset_sampler", {{"indices", "indices"}, {"num_samples", ""}}},
      {"SubsetRandomSampler", "subset_random_sampler", {{"indices", "indices"}, {"num_samples", ""}, no_seed()}},
      // num_samples is P * K: reader and writer compute with it.
      {"PKSampler",
       "pk_sampler",
       {{"num_val", "per_class"},
        {"num_samples", ""},
        {"shuffle", "shuffle"},
        {"", "replacement", Rule::same, true, "MindData's PKSampler draws the rows of a class with replacement"},
        no_seed()}},
      // The seed is a number of 32 bits there: the reader and the writer check it.
      {"DistributedSampler",
       "distributed_sampler",
       {{"num_shards", "num_shards"},
        {"shard_id", "index"},
        {"shuffle", "shuffle"},
        num_samples(),
        {"seed", ""},
        {"offset", "offset"},
        {"even_dist", "even"}}},
  };
  return forms;
}

}  // namespace ridgeline::data
