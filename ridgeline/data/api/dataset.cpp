#include "ridgeline/data/api/dataset.h"

#include <fmt/format.h>

#include <limits>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"
#include "ridgeline/data/source/source.h"

namespace ridgeline::data {
namespace {

Node make(std::string op, Args args = {}) {
  return {.id = "",
          .op = std::move(op),
          .inputs = {},
          .args = std::move(args),
          .operations = {},
          .name = "",
          .hints = {},
          .source = nullptr};
}

Dataset source(Node node) {
  DataGraph graph;
  graph.add(std::move(node));
  return Dataset(std::move(graph));
}

std::int64_t seed_arg(const std::optional<std::uint64_t>& seed) {
  if (!seed) return -1;
  if (*seed > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw Error(fmt::format("[shuffle] seed is {}, it must be below 2^63", *seed));
  }
  return static_cast<std::int64_t>(*seed);
}

}  // namespace

Dataset::Dataset(DataGraph graph) : graph_(validate(std::move(graph))) { schema_of(graph_); }

Dataset Dataset::from_json(const std::string& text) { return Dataset(graph_from_json(text)); }

Dataset Dataset::with(Node node) const {
  DataGraph graph = graph_;
  node.inputs = {graph.output().id};
  graph.add(std::move(node));
  return Dataset(std::move(graph));
}

Dataset Dataset::shuffle(ShuffleOptions options) const {
  return with(make("shuffle", {{"seed", seed_arg(options.seed)}}));
}
Dataset Dataset::repeat(std::int64_t count) const { return with(make("repeat", {{"count", count}})); }
Dataset Dataset::take(std::int64_t count) const { return with(make("take", {{"count", count}})); }
Dataset Dataset::skip(std::int64_t count) const { return with(make("skip", {{"count", count}})); }
Dataset Dataset::shard(std::int64_t count, std::int64_t index) const {
  return with(make("shard", {{"count", count}, {"index", index}}));
}
Dataset Dataset::map(std::vector<Transform> transforms) const {
  Node node = make("map");
  node.operations = std::move(transforms);
  return with(std::move(node));
}
Dataset Dataset::batch(std::int64_t size, BatchOptions options) const {
  return with(make("batch", {{"size", size}, {"drop_remainder", options.drop_remainder}}));
}

Dataset Dataset::with_seed(std::uint64_t seed) const {
  Dataset copy = *this;
  copy.graph_.seed = seed;
  return copy;
}

Dataset Dataset::with_hints(Hints hints) const {
  Dataset copy = *this;
  const Node* batch = batch_node(copy.graph_);
  if (!batch) throw Error("hints belong to batches: call with_hints after batch");
  Node& node = copy.graph_.node(batch->id);
  node.hints["workers"] = hints.workers;
  node.hints["memory_limit"] = hints.memory_limit;
  complete(node);
  return copy;
}

std::int64_t Dataset::size() const { return rows_of(graph_); }

std::int64_t Dataset::num_samples() const {
  const std::vector<const Node*> chain = chain_of(graph_);
  std::size_t batch = 0;
  while (batch < chain.size() && chain[batch]->op != "batch") ++batch;
  if (batch == chain.size()) return rows_of(graph_);
  const std::int64_t batches = rows_of(graph_);
  if (batches == kForever) return kForever;
  // Batches above the batch node can be rearranged or repeated, and one of them may be short: count them where they can
  // be told apart, below that node, and otherwise by their number.
  const std::int64_t size = batch_size();
  const std::int64_t below = rows_after(chain, batch);
  if (arg<bool>(chain[batch]->args, "drop_remainder") || below == kForever || below % size == 0) return batches * size;
  if (batch + 1 == chain.size()) return below;
  const DataGraph pushed = push_down(graph_);
  if (batch_node(pushed)->id == pushed.output().id) return Dataset(pushed).num_samples();
  throw Error(
      "the samples of a dataset whose batches are shuffled, repeated or sharded after batch, with a short last one, "
      "are "
      "not counted: put those before batch, or drop the remainder");
}

std::int64_t Dataset::batch_size() const {
  const Node* batch = batch_node(graph_);
  return batch ? arg<std::int64_t>(batch->args, "size") : 1;
}

std::int64_t Dataset::repeat_count() const {
  std::int64_t product = 1;
  for (const Node* node : chain_of(graph_)) {
    if (node->op != "repeat") continue;
    const std::int64_t count = arg<std::int64_t>(node->args, "count");
    if (count == kForever) return kForever;
    product *= count;
  }
  return product;
}

Schema Dataset::columns() const { return schema_of(graph_); }

std::int64_t Dataset::num_classes() const {
  const Node& node = source_node(graph_);
  // TFRecords need not be opened for what their option says.
  if (node.op == "tfrecord" && arg<std::int64_t>(node.args, "num_classes") > 0)
    return arg<std::int64_t>(node.args, "num_classes");
  const std::int64_t classes = node.op == "tfrecord" ? 0 : source_of(node).num_classes();
  if (classes == 0)
    throw Error(fmt::format("[{}] the number of classes is not known{}", node.op,
                            node.op == "tfrecord" ? ": set the option num_classes" : ""));
  return classes;
}

std::vector<std::string> Dataset::class_names() const { return source_of(source_node(graph_)).class_names(); }
int Dataset::label_base() const { return source_of(source_node(graph_)).label_base(); }
std::string Dataset::to_json(int indent) const { return data::to_json(graph_, indent); }
std::uint64_t Dataset::hash() const { return graph_hash(graph_); }

Dataset ImageFolder(const std::string& dir, ImageFolderOptions options) {
  return source(make("image_folder", {{"dir", dir}, {"extensions", std::move(options.extensions)}}));
}

LabelBase parse_label_base(const std::string& text) {
  if (text == "auto") return LabelBase::automatic;
  if (text == "0") return LabelBase::zero;
  if (text == "1") return LabelBase::one;
  throw Error("unknown label_base '" + text + "' (allowed: auto, 0, 1)", ErrorKind::usage);
}

Dataset TFRecord(const std::string& pattern, TFRecordOptions options) {
  return TFRecord(std::vector<std::string>{pattern}, options);
}

Dataset TFRecord(std::vector<std::string> files, TFRecordOptions options) {
  const char* base = options.label_base == LabelBase::automatic ? "auto"
                     : options.label_base == LabelBase::zero    ? "0"
                                                                : "1";
  return source(
      make("tfrecord",
           {{"files", std::move(files)}, {"label_base", std::string(base)}, {"num_classes", options.num_classes}}));
}

Dataset Idx(const std::string& images, const std::string& labels) {
  return source(make("idx", {{"images", images}, {"labels", labels}}));
}
Dataset InMemory(std::vector<NamedTensor> columns) {
  return source(make("in_memory", {{"columns", std::move(columns)}}));
}

}  // namespace ridgeline::data
