// MindData's nodes of one input, and nodes without a counterpart on either side.
#include <map>

#include "ridgeline/data/minddata/forms.h"

namespace ridgeline::data {
namespace {

using Rule = MindDataRule;

Value no_texts() { return Texts{}; }

}  // namespace

const std::vector<MindDataForm>& minddata_nodes() {
  static const std::vector<MindDataForm> forms{
      {"Batch",
       "batch",
       {{"batch_size", "size"},
        {"drop_remainder", "drop_remainder"},
        {"", "pad", Rule::same, false, "MindData does not write the padding of a batch down"},
        {"input_columns", "", Rule::same, no_texts(), "columns of a per_batch_map, which is Python", true},
        {"output_columns", "", Rule::same, no_texts(), "columns of a per_batch_map, which is Python", true}}},
      {"Repeat", "repeat", {{"count", "count"}}},
      {"Skip", "skip", {{"count", "count"}}},
      {"Take", "take", {{"count", "count", Rule::count_or_all}}},
      {"Project", "project", {{"columns", "columns"}}},
      {"Rename", "rename", {{"input_columns", "from"}, {"output_columns", "to"}}},
      {"Shuffle",
       "shuffle",
       {{"buffer_size", "buffer"},
        {"reset_each_epoch", "", Rule::same, true, "every epoch has an order of its own here"},
        {"", "seed", Rule::same, std::int64_t{-1}, "MindData does not write the seed of a shuffle down"}}},
  };
  return forms;
}

const std::vector<std::string>& minddata_sources() {
  static const std::vector<std::string> names{"ImageFolderDataset", "MnistDataset", "Cifar10Dataset",
                                              "TFRecordDataset"};
  return names;
}

std::vector<std::string> cifar10_files(const std::string& dir, const std::string& usage) {
  std::vector<std::string> files;
  if (usage == "train" || usage == "all") {
    for (const char* part : {"1", "2", "3", "4", "5"}) files.push_back(dir + "/data_batch_" + part + ".bin");
  }
  if (usage == "test" || usage == "all") files.push_back(dir + "/test_batch.bin");
  return files;
}

std::string minddata_refusal(const std::string& op_type) {
  static const std::map<std::string, std::string> reasons{
      {"Transfer", "sending to a device is the trainer's work: read the tree below it"},
      {"Filter", "its predicate is Python: use Dataset::filter"},
      {"BucketBatchByLength", "its length function is Python: use Dataset::bucket"},
      {"GeneratorDataset", "it runs a Python generator"},
      {"Generator", "it runs a Python generator"},
      {"SyncWait", "it waits for Python code"},
      {"Cifar100Dataset", "it delivers coarse and fine labels side by side: use Cifar, which delivers one of them"},
      {"MindDataset", "no source here reads MindRecord"},
  };
  const auto found = reasons.find(op_type);
  return found == reasons.end() ? "" : found->second;
}

std::string refusal_of_ours(const std::string& op) {
  static const std::map<std::string, std::string> reasons{
      {"shard", "MindData has no node that shards: use DistributedSampler on the source"},
      {"filter", "MindData's filters are Python functions"},
      {"mix", "MindData has no node that mixes inputs by weight"},
      {"cache", "MindData's cache is a server's session on another node"},
      {"bucket", "MindData does not write BucketBatchByLength down"},
      {"in_memory", "MindData does not write columns in memory down"},
  };
  const auto found = reasons.find(op);
  return found == reasons.end() ? "MindData has no node like it" : found->second;
}

}  // namespace ridgeline::data
