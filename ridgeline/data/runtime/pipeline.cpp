#include "ridgeline/data/runtime/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ridgeline/core/permutation.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/code_version.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

// A stream drops old rows when new ones are read: there, no row may be read ahead.
bool may_look_ahead(const DataGraph& graph) {
  const std::vector<const Node*> sources = sources_of(graph);
  return std::none_of(sources.begin(), sources.end(), [](const Node* node) { return source_of(*node).in_turn(); });
}

// Builds the tree below batch, each node once.
class TreeBuilder {
 public:
  TreeBuilder(const DataGraph& graph, std::uint64_t seed, Log* log)
      : graph_(graph), seed_(seed), log_(log), schemas_(schemas_of(graph)), sizes_(sizes_of(graph)) {}

  RowsPtr build(const std::string& id) {
    if (const auto found = built_.find(id); found != built_.end()) return found->second;
    const Node& node = graph_.node(id);
    const int first = places_;
    std::vector<RowsPtr> inputs;
    for (const std::string& input : node.inputs) inputs.push_back(build(input));
    RowsPtr rows = make(node, std::move(inputs));
    if (readers_of(graph_, id).size() > 1) {
      const int place = places_++;
      rows = make_shared_rows(std::move(rows), first, place);
    }
    built_[id] = rows;
    return rows;
  }
  int places() const { return places_; }
  const std::vector<const Extent*>& looking() const { return looking_; }

 private:
  RowsPtr make(const Node& node, std::vector<RowsPtr> inputs) {
    const Schema& schema = schemas_.at(node.id);
    switch (node_entry(node.op).kind) {
      case NodeKind::source: return make_source_rows(node, places_++);
      case NodeKind::order: return arrange(node, inputs[0]);
      case NodeKind::filter: {
        RowsPtr rows = make_filter_rows(node, inputs[0], places_, may_look_ahead(graph_));
        looking_.push_back(rows.get());
        return rows;
      }
      case NodeKind::columns: return make_column_rows(node, inputs[0], schema, places_++);
      case NodeKind::map: {
        const int first = places_;
        places_ += static_cast<int>(columns_of(node).size());
        return make_map_rows(node, inputs[0], schema, first, seed_);
      }
      case NodeKind::join: return join(node, std::move(inputs), schema);
      case NodeKind::cache: return make_cache_rows(node, inputs[0], places_++, cache_key(node), log_);
      case NodeKind::batch: break;
    }
    throw InternalError("no rows for node " + node.op);
  }

  RowsPtr arrange(const Node& node, const RowsPtr& input) {
    const std::function<std::int64_t(std::uint64_t)> labels = [&](std::uint64_t row) { return label_of(node, row); };
    auto arrangement = make_arrangement(node, *input, sizes_.at(node.id), seed_, labels);
    return make_arranged_rows(input, std::move(arrangement), places_++);
  }

  // For pk_sampler, which sits on a source or on samplers of one that are the same in every epoch.
  std::int64_t label_of(const Node& sampler, std::uint64_t row) const {
    const Node& input = graph_.node(sampler.inputs[0]);
    if (node_entry(input.op).kind != NodeKind::source)
      throw Error(
          fmt::format("[{}] reads the labels of a source: put it right above one, not above {}", sampler.op, input.op));
    return read_label(source_of(input), row);
  }

  // Another graph below, another rank's shard, other files or other contents, other code: another key.
  std::string cache_key(const Node& node) const {
    if (arg<std::string>(node.args, "directory").empty()) return "";
    DataGraph below = graph_;
    below.outputs = {node.inputs[0]};
    std::set<std::string> used(below.outputs.begin(), below.outputs.end());
    for (auto n = graph_.nodes.rbegin(); n != graph_.nodes.rend(); ++n) {
      if (used.contains(n->id)) used.insert(n->inputs.begin(), n->inputs.end());
    }
    std::erase_if(below.nodes, [&](const Node& n) { return !used.contains(n.id); });
    std::uint64_t key = graph_hash(below, HashOf::part);
    try {
      for (const Node* source : sources_of(below))
        key = hash64(fmt::format("{}", source_of(*source).fingerprint()), key);
      for (const Node& n : below.nodes) {
        if (const std::uint64_t version = code_version(n)) key = hash64(fmt::format("{}", version), key);
      }
    } catch (const UnknownCode& e) {
      throw Error(fmt::format("[cache] '{}' cannot keep rows in a directory: {}", node.id, e.what()), e.kind());
    }
    return fmt::format("{:016x}", key);
  }

  RowsPtr join(const Node& node, std::vector<RowsPtr> inputs, const Schema& schema) {
    const std::int64_t size = sizes_.at(node.id);
    if (node.op == node_name::kZip) return make_zip_rows(std::move(inputs), schema, size);
    if (node.op == node_name::kConcat) return make_concat_rows(std::move(inputs), schema, size);
    return make_mix_rows(node, std::move(inputs), schema, size, seed_);
  }

  const DataGraph& graph_;
  std::uint64_t seed_;
  Log* log_;
  std::map<std::string, Schema> schemas_;
  std::map<std::string, std::int64_t> sizes_;
  std::map<std::string, RowsPtr> built_;
  std::vector<const Extent*> looking_;
  int places_ = 0;
};

// The graph with the caller's options instead of its hints.
DataGraph tuned(DataGraph graph, const IteratorOptions& options) {
  const Node* batch = data::batch_node(graph);
  if (!batch) return graph;
  std::map<std::string, std::int64_t>& hints = graph.node(batch->id).hints;
  if (options.workers > 0) hints["workers"] = options.workers;
  if (options.memory_limit > 0) hints["memory_limit"] = options.memory_limit;
  if (options.slots > 0) hints["slots"] = options.slots;
  return graph;
}

}  // namespace

Pipeline::Pipeline(const Dataset& dataset, const IteratorOptions& options)
    : hash_(dataset.hash()), seed_(options.seed.value_or(dataset.graph().seed)) {
  DataGraph sources;
  for (const Node* node : sources_of(dataset.graph())) {
    sources.nodes.push_back(*node);
    sources.nodes.back().hints.clear();
    // Data in memory does not identify its files, and would be long.
    std::erase_if(sources.nodes.back().args, [](const auto& a) { return std::holds_alternative<Tensors>(a.second); });
  }
  sources_ = to_json(sources);
  DataGraph before;
  graph_ = prepare(tuned(dataset.graph(), options), options.raw_images, options.disabled_passes,
                   [&](const std::string& pass, const DataGraph& graph) {
                     if (pass == "split_tail") tail_ = tail_between(before, graph);
                     before = graph;
                     if (options.log && options.log->enabled("data"))
                       options.log->trace("data", pass + ": " + to_json(graph));
                   });
  batch_ = data::batch_node(graph_);
  TreeBuilder tree(graph_, seed_, options.log);
  rows_ = tree.build(batch_ ? batch_->inputs[0] : graph_.output().id);
  places_ = tree.places();
  looking_ = tree.looking();
  columns_ = schema_of(graph_);
  if (!batch_) return;
  const std::map<std::string, std::int64_t> sizes = sizes_of(graph_);
  batches_ = make_batches(*batch_, rows_, sizes.at(batch_->id), places_, may_look_ahead(graph_));
  if (batch_->op == node_name::kBucket) looking_.push_back(batches_.get());
  batch_operations_ = batch_->operations;
  const std::vector<const Node*> trunk = trunk_of(graph_);
  for (auto node = std::find(trunk.rbegin(), trunk.rend(), batch_) + 1; node != trunk.rend(); ++node)
    above_.push_back(make_arrangement(**node, order(), sizes.at((*node)->id), seed_));
}

bool Pipeline::help() const {
  return std::any_of(looking_.begin(), looking_.end(), [](const Extent* node) { return node->help(); });
}

std::int64_t Pipeline::rows_of(RowAddress batch, std::vector<RowAddress>& rows) const {
  for (auto arrangement = above_.rbegin(); arrangement != above_.rend(); ++arrangement)
    batch = (*arrangement)->below(batch);
  batches_->rows_of(batch, rows);
  return batches_->capacity_of(batch);
}

RowAddress Pipeline::replacement(RowAddress row, int attempt) const {
  std::int64_t rows = rows_->size();
  if (rows == kForever) rows = static_cast<std::int64_t>(records());  // one pass of what repeats
  if (rows == kUnknown) rows = rows_->count(row.epoch);
  const auto count = static_cast<std::uint64_t>(rows);
  const PhiloxKey key = philox_key(seed_, fmt::format("replacement {}", attempt));
  return {row.epoch, row.position / count * count + Permutation(count, key, row.epoch).at(row.position % count)};
}

}  // namespace ridgeline::data
