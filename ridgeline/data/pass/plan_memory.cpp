#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/core/memory.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/pass/batch_plan.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

// More prepared batches than these hide no more, they only touch memory.
constexpr std::int64_t kMostSlots = 8;

// Where nobody says. Who feeds an accelerator holds three batches: one that is copied, one behind it, and the next; as
// many again let workers go on meanwhile. Large ones take a sixteenth of the memory at most, except for the least
// number.
constexpr std::int64_t kUsualSlots = 6;

std::int64_t default_limit(std::int64_t bytes) {
  const std::int64_t usual = std::min(kUsualSlots * bytes, available_memory() / 16);
  return std::max({kDefaultMemory, usual, kLeastSlots * bytes});
}

}  // namespace

DataGraph plan_memory(DataGraph graph) {
  const Node* found = batch_node(graph);
  if (!found) return graph;
  Node& batch = graph.node(found->id);
  const auto bytes =
      static_cast<std::int64_t>(slot_layout(schemas_of(graph).at(batch.id), batch_capacity(batch)).bytes);
  std::int64_t &limit = batch.hints["memory_limit"], &slots = batch.hints["slots"];
  if (limit == 0) limit = default_limit(bytes);
  if (limit < bytes) {
    throw Error(fmt::format("[{}] one batch takes {} bytes, memory_limit is {}: raise it or make batches smaller",
                            batch.op, bytes, limit));
  }
  slots = std::min(limit / bytes, slots > 0 ? slots : kMostSlots);
  return graph;
}

}  // namespace ridgeline::data
