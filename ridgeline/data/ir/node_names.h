// ridgeline/data/ir/node_names.h
//
// Names of nodes that front ends, passes and runs treat specially. (Transforms and sources are recognised by fields of
// their entries instead.)
#pragma once

namespace ridgeline::data::node_name {

inline constexpr const char* kMap = "map";
inline constexpr const char* kFilter = "filter";
inline constexpr const char* kProject = "project";
inline constexpr const char* kRename = "rename";
inline constexpr const char* kZip = "zip";
inline constexpr const char* kConcat = "concat";
inline constexpr const char* kMix = "mix";
inline constexpr const char* kCache = "cache";
inline constexpr const char* kBatch = "batch";
inline constexpr const char* kBucket = "bucket";
inline constexpr const char* kShuffle = "shuffle";
inline constexpr const char* kRepeat = "repeat";
inline constexpr const char* kTake = "take";
inline constexpr const char* kSkip = "skip";
inline constexpr const char* kShard = "shard";
inline constexpr const char* kSequentialSampler = "sequential_sampler";
inline constexpr const char* kRandomSampler = "random_sampler";
inline constexpr const char* kSubsetSampler = "subset_sampler";
inline constexpr const char* kSubsetRandomSampler = "subset_random_sampler";
inline constexpr const char* kWeightedSampler = "weighted_sampler";
inline constexpr const char* kPkSampler = "pk_sampler";
inline constexpr const char* kDistributedSampler = "distributed_sampler";

}  // namespace ridgeline::data::node_name
