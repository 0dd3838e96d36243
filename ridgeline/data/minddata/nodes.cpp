// MindData's nodes of one input, and what has no counterpart on either side.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "ridgeline/data/minddata/forms.h"

namespace ridgeline::data {
namespace {

using Law = MindDataLaw;

Value no_texts() { return Texts{}; }

void describe(std::string& page, const std::vector<MindDataForm>& forms) {
  for (const MindDataForm& form : forms) {
    std::vector<std::string> keys;
    for (const MindDataField& field : form.fields) {
      if (!field.key.empty()) keys.push_back(field.key);
    }
    page += fmt::format("  {} = {}({})\n", form.name, form.op, fmt::join(keys, ", "));
  }
}

}  // namespace

const std::vector<MindDataForm>& minddata_nodes() {
  static const std::vector<MindDataForm> forms{
      {"Batch",
       "batch",
       {{"batch_size", "size"},
        {"drop_remainder", "drop_remainder"},
        {"", "pad", Law::same, false, "MindData does not write the padding of a batch down"},
        {"input_columns", "", Law::same, no_texts(), "columns of a per_batch_map, which is Python", true},
        {"output_columns", "", Law::same, no_texts(), "columns of a per_batch_map, which is Python", true}}},
      {"Repeat", "repeat", {{"count", "count"}}},
      {"Skip", "skip", {{"count", "count"}}},
      {"Take", "take", {{"count", "count", Law::count_or_all}}},
      {"Project", "project", {{"columns", "columns"}}},
      {"Rename", "rename", {{"input_columns", "from"}, {"output_columns", "to"}}},
      {"Shuffle",
       "shuffle",
       {{"buffer_size", "buffer"},
        {"reset_each_epoch", "", Law::same, true, "every epoch has an order of its own here"},
        {"", "seed", Law::same, std::int64_t{-1}, "MindData does not write the seed of a shuffle down"}}},
  };
  return forms;
}

std::string minddata_refusal(const std::string& op_type) {
  static const std::map<std::string, std::string> reasons{
      {"Transfer", "sending to a device is the trainer's work: read the tree below it"},
      {"Filter", "its predicate is Python: use Dataset::filter"},
      {"BucketBatchByLength", "its length function is Python: use Dataset::bucket"},
      {"GeneratorDataset", "it runs a Python generator"},
      {"Generator", "it runs a Python generator"},
      {"SyncWait", "it waits for Python code"},
      {"Cifar10Dataset", "no source here reads CIFAR's binary files by that node"},
      {"Cifar100Dataset", "no source here reads CIFAR's binary files by that node"},
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

std::string minddata_page() {
  std::string page = "nodes\n";
  describe(page, minddata_nodes());
  page +=
      "  Map = map(input_columns, operations)\n  Zip = zip()\n  Concat = concat()\n"
      "  ImageFolderDataset = image_folder(dataset_dir, extensions, sampler)\n"
      "  MnistDataset = idx(dataset_dir, usage, sampler)\n"
      "  TFRecordDataset = tfrecord(dataset_files, num_samples, shuffle)\nsamplers\n";
  describe(page, minddata_samplers());
  page += "operations\n";
  describe(page, minddata_operations());
  return page;
}

}  // namespace ridgeline::data
