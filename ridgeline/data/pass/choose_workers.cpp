#include <algorithm>

#include "ridgeline/core/threads.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/count.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/batch_plan.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

// Rows that cost less than a lock or a look at the clock are taken several at a time: small values without decoding.
constexpr std::int64_t kCheapRows = 64;
constexpr std::size_t kCheapRowBytes = 4096;

bool rows_are_cheap(const DataGraph& graph, const Node& batch) {
  for (const Node& node : graph.nodes) {
    if (std::any_of(node.operations.begin(), node.operations.end(), is_costly)) return false;
  }
  const std::int64_t rows = batch_capacity(batch);
  return slot_layout(schemas_of(graph).at(batch.id), rows).bytes / static_cast<std::size_t>(rows) < kCheapRowBytes;
}

}  // namespace

DataGraph choose_workers(DataGraph graph) {
  const Node* found = batch_node(graph);
  if (!found) return graph;
  const std::int64_t at_once = rows_are_cheap(graph, *found) ? kCheapRows : 1;
  Node& batch = graph.node(found->id);
  batch.hints["rows_at_once"] = at_once;
  std::int64_t& workers = batch.hints["workers"];
  if (workers > 0) return graph;
  // Never more than there are pieces of work in all prepared batches.
  const std::int64_t cores = available_cores(), pieces = parts_of(batch_capacity(batch), at_once);
  workers = std::min(cores, std::min(cores, plan_of(batch).slots) * std::min(cores, pieces));
  return graph;
}

}  // namespace ridgeline::data
