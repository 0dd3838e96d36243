#include "ridgeline/data/runtime/pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

// What split_tail took off: the difference between the graph before and after it.
ImageTail tail_between(const DataGraph& before, const DataGraph& after) {
  ImageTail tail;
  const auto find = [](const DataGraph& graph, const std::string& op) -> const Transform* {
    const Transform* found = nullptr;
    for (const Node& node : graph.nodes) {
      for (const Transform& t : node.operations) {
        if (t.op == op) found = &t;
      }
    }
    return found;
  };
  if (const Transform* normalize = find(before, "normalize"); normalize && !find(after, "normalize")) {
    tail.normalize = true;
    tail.mean = arg<Reals>(normalize->args, "mean");
    tail.std = arg<Reals>(normalize->args, "std");
  }
  tail.flip = arg<double>(find(after, "draw_flip")->args, "p") > 0;
  return tail;
}

}  // namespace

Pipeline::Pipeline(const Dataset& dataset, const IteratorOptions& options)
    : hash_(dataset.hash()), seed_(options.seed.value_or(dataset.graph().seed)) {
  DataGraph before;
  graph_ = prepare(dataset.graph(), options.raw_images, options.disabled_passes,
                   [&](const std::string& pass, const DataGraph& graph) {
                     if (pass == "split_tail") tail_ = tail_between(before, graph);
                     before = graph;
                     if (options.log && options.log->enabled("data"))
                       options.log->trace("data", pass + ": " + to_json(graph));
                   });
  const std::vector<const Node*> chain = chain_of(graph_);
  stage_ = std::make_unique<Stage>(graph_, seed_);
  const std::int64_t rows = rows_after(chain, 1);
  std::vector<const Node*> below, above;
  const Node* batch = nullptr;
  for (const Node* node : chain) {
    const NodeKind kind = node_entry(node->op).kind;
    if (kind == NodeKind::batch) batch = node;
    if (kind == NodeKind::order) (batch ? above : below).push_back(node);
  }
  samples_ = std::make_unique<Order>(below, rows, seed_);
  columns_ = schema_of(graph_);
  if (!batch) return;
  batch_size_ = arg<std::int64_t>(batch->args, "size");
  batches_ = std::make_unique<Order>(above, node_entry("batch").size(*batch, samples_->size()), seed_);
}

void Pipeline::samples_of(std::uint64_t epoch, std::uint64_t index, std::vector<SampleRef>& refs) const {
  const SampleRef batch = batches_->at(epoch, index);
  const auto size = static_cast<std::uint64_t>(batch_size_);
  const std::uint64_t first = batch.index * size;
  const std::uint64_t end = samples_->size() == kForever
                                ? first + size
                                : std::min(first + size, static_cast<std::uint64_t>(samples_->size()));
  refs.clear();
  for (std::uint64_t i = first; i < end; ++i) refs.push_back(samples_->at(batch.epoch, i));
}

}  // namespace ridgeline::data
