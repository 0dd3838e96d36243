#include "ridgeline/data/api/dataset.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/count.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/ir/source_handle.h"
#include "ridgeline/data/pass/batch_plan.h"
#include "ridgeline/data/pass/passes.h"

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
          .source = nullptr,
          .origin = 0};
}

// One node over the outputs of several graphs, which become one.
Dataset join(std::string op, const std::vector<Dataset>& inputs, Args args) {
  if (inputs.size() < 2) throw Error(fmt::format("[{}] has {} inputs, it must have 2 or more", op, inputs.size()));
  DataGraph graph = inputs[0].graph();
  Node node = make(std::move(op), std::move(args));
  for (const Dataset& input : inputs) {
    if (const std::uint64_t seed = input.graph().seed; seed != 0 && seed != graph.seed)
      throw Error(
          fmt::format("[{}] has one seed, {} of its first input: {} of another one would be lost, give the seed "
                      "to the result",
                      node.op, graph.seed, seed));
    node.inputs.push_back(graph.absorb(input.graph()));
  }
  graph.add(std::move(node));
  return Dataset(std::move(graph));
}

}  // namespace

Dataset::Dataset(DataGraph graph) : graph_(cache_legality(validate(std::move(graph)))) { schema_of(graph_); }

Dataset Dataset::from_json(const std::string& text) { return Dataset(graph_from_json(text)); }

Dataset Dataset::with(Node node) const {
  DataGraph graph = graph_;
  node.inputs = {graph.output().id};
  graph.add(std::move(node));
  return Dataset(std::move(graph));
}

Dataset Dataset::shuffle(ShuffleOptions options) const {
  return with(make(node_name::kShuffle, {{"seed", to_seed(options.seed)}, {"buffer", options.buffer}}));
}
Dataset Dataset::repeat(std::int64_t count) const { return with(make(node_name::kRepeat, {{"count", count}})); }
Dataset Dataset::take(std::int64_t count) const { return with(make(node_name::kTake, {{"count", count}})); }
Dataset Dataset::skip(std::int64_t count) const { return with(make(node_name::kSkip, {{"count", count}})); }
Dataset Dataset::shard(std::int64_t count, std::int64_t index) const {
  return with(make(node_name::kShard, {{"count", count}, {"index", index}}));
}
Dataset Dataset::map(std::vector<Transform> transforms) const {
  Node node = make(node_name::kMap);
  node.operations = std::move(transforms);
  return with(std::move(node));
}
Dataset Dataset::map_columns(std::vector<std::string> columns, std::vector<Transform> transforms) const {
  Node node = make(node_name::kMap, {{"columns", std::move(columns)}});
  node.operations = std::move(transforms);
  return with(std::move(node));
}
Dataset Dataset::with_callbacks(std::vector<std::shared_ptr<DataCallback>> callbacks) const {
  Dataset copy = *this;
  for (const Node* at : trunk_of(copy.graph_)) {
    if (at->op != node_name::kMap) continue;
    Node& map = copy.graph_.node(at->id);
    map.callbacks.insert(map.callbacks.end(), callbacks.begin(), callbacks.end());
    complete(map);
    return copy;
  }
  throw Error("callbacks belong to a map: call with_callbacks after map");
}
Dataset Dataset::filter(const Filter& filter) const {
  return with(make(node_name::kFilter, {{"column", filter.column},
                                        {"test", filter.test},
                                        {"values", filter.values},
                                        {"texts", filter.texts},
                                        {"function", filter.function}}));
}
Dataset Dataset::project(std::vector<std::string> columns) const {
  return with(make(node_name::kProject, {{"columns", std::move(columns)}}));
}
Dataset Dataset::rename(std::vector<std::string> from, std::vector<std::string> to) const {
  return with(make(node_name::kRename, {{"from", std::move(from)}, {"to", std::move(to)}}));
}
Dataset Dataset::sample(const Sampler& sampler) const { return with(make(sampler.op, sampler.args)); }
Dataset Dataset::cache(CacheOptions options) const {
  return with(
      make(node_name::kCache, {{"memory_limit", options.memory_limit}, {"directory", std::move(options.directory)}}));
}
Dataset Dataset::batch(std::int64_t size, BatchOptions options) const {
  Node node =
      make(node_name::kBatch, {{"size", size}, {"drop_remainder", options.drop_remainder}, {"pad", options.pad}});
  node.operations = std::move(options.operations);
  return with(std::move(node));
}
Dataset Dataset::bucket(const std::string& column, std::vector<std::int64_t> boundaries,
                        std::vector<std::int64_t> sizes, BucketOptions options) const {
  return with(make(node_name::kBucket, {{"column", column},
                                        {"boundaries", std::move(boundaries)},
                                        {"sizes", std::move(sizes)},
                                        {"drop_remainder", options.drop_remainder},
                                        {"pad", options.pad}}));
}

Dataset zip(const std::vector<Dataset>& inputs) { return join(node_name::kZip, inputs, {}); }
Dataset concat(const std::vector<Dataset>& inputs) { return join(node_name::kConcat, inputs, {}); }
Dataset mix(const std::vector<Dataset>& inputs, std::vector<double> weights, MixOptions options) {
  return join(node_name::kMix, inputs,
              {{"weights", std::move(weights)}, {"count", options.count}, {"seed", to_seed(options.seed)}});
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
  node.hints = {{"workers", hints.workers}, {"memory_limit", hints.memory_limit}, {"slots", hints.slots}};
  std::erase_if(node.hints, [](const auto& hint) { return hint.second == 0; });
  complete(node);
  return copy;
}

std::int64_t Dataset::size() const { return rows_of(graph_); }

namespace {

// nullopt where the number of batches does not determine that of samples.
std::optional<std::int64_t> samples_of(const DataGraph& graph) {
  const Node* batch = batch_node(graph);
  const std::map<std::string, std::int64_t> sizes = sizes_of(graph);
  const std::int64_t rows = sizes.at(graph.output().id);
  if (!batch || rows == kForever) return rows;
  if (batch->op != node_name::kBatch || rows == kUnknown) return kUnknown;
  // Batches above the batch node can be rearranged or repeated, and one of them may be short: so samples are counted
  // below that node where possible, and otherwise by the number of batches.
  const std::int64_t size = batch_capacity(*batch), below = sizes.at(batch->inputs[0]);
  const bool drop = arg<bool>(batch->args, "drop_remainder");
  if (batch->id == graph.output().id && !drop) return below;
  // Where rows are sharded over ranks, one may have fewer than its batches hold.
  const auto full = [&] { return rows_product(batch->op, sizes.at(batch->id), size) == below; };
  if (drop || below == kForever || full()) return rows_product(batch->op, rows, size);
  const DataGraph pushed = push_down(drop_no_ops(graph));
  if (batch_node(pushed)->id == pushed.output().id) return samples_of(pushed);
  return std::nullopt;
}

}  // namespace

std::int64_t Dataset::num_samples() const {
  if (const auto samples = samples_of(graph_)) return *samples;
  throw Error(
      "the samples of a dataset whose batches are shuffled, repeated or sharded after batch, with a short last one, "
      "are not counted: put those before batch, or drop the remainder");
}

std::int64_t Dataset::num_samples_if_known() const { return samples_of(graph_).value_or(kUnknown); }

std::int64_t Dataset::batch_size() const {
  const Node* batch = batch_node(graph_);
  return batch ? batch_capacity(*batch) : 1;
}

std::int64_t Dataset::repeat_count() const {
  std::int64_t product = 1;
  for (const Node& node : graph_.nodes) {
    if (node.op != node_name::kRepeat) continue;
    const std::int64_t count = arg<std::int64_t>(node.args, "count");
    if (count == kForever) return kForever;
    product = rows_product(node.op, product, count);
  }
  return product;
}

Schema Dataset::columns() const { return schema_of(graph_); }

// Of several sources, the greatest known number.
std::int64_t Dataset::num_classes() const {
  std::int64_t all = 0;
  std::string unknown;
  for (const Node* node : sources_of(graph_)) {
    const std::int64_t classes = handle_of(*node).classes(*node).count;
    if (classes == 0)
      unknown = fmt::format("[{}] the number of classes is not known{}", node->op,
                            node->args.contains("num_classes") ? ": set the option num_classes" : "");
    all = std::max(all, classes);
  }
  if (all == 0) throw Error(unknown);
  return all;
}

std::vector<std::string> Dataset::class_names() const {
  const Node& source = *sources_of(graph_)[0];
  return handle_of(source).classes(source).names;
}
ClassIndexing Dataset::class_indexing() const {
  const Node& source = *sources_of(graph_)[0];
  return handle_of(source).classes(source).indexing;
}
int Dataset::label_base() const {
  const Node& source = *sources_of(graph_)[0];
  return handle_of(source).label_base(source);
}
std::string Dataset::to_json(int indent) const { return data::to_json(graph_, indent); }
std::uint64_t Dataset::hash() const { return graph_hash(graph_); }

}  // namespace ridgeline::data
