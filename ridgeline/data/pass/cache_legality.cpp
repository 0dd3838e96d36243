#include <fmt/format.h>

#include <set>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

// Why the rows at or below `node` are not the same in every epoch, or not rows of one; "" if they are. Nodes in `seen`
// were looked at before.
std::string obstacle(const DataGraph& graph, const Node& node, std::set<std::string>& seen) {
  if (!seen.insert(node.id).second) return "";
  const NodeEntry& entry = node_entry(node.op);
  if (entry.random && !(node.args.contains("shuffle") && !arg<bool>(node.args, "shuffle")))
    return fmt::format("'{}' ({}) gives other rows in every epoch", node.id, node.op);
  if (entry.repeats)
    return fmt::format("'{}' repeats rows, which would be kept once for every pass: put it above", node.id);
  if (entry.kind == NodeKind::cache) return fmt::format("'{}' is a cache already", node.id);
  for (const Transform& t : node.operations) {
    if (is_random(t))
      return fmt::format("'{}' of '{}' draws random numbers, whose first draw would be kept for ever", t.op, node.id);
  }
  for (const std::string& input : node.inputs) {
    if (std::string found = obstacle(graph, graph.node(input), seen); !found.empty()) return found;
  }
  return "";
}

}  // namespace

DataGraph cache_legality(DataGraph graph) {
  for (const Node& node : graph.nodes) {
    if (node_entry(node.op).kind != NodeKind::cache) continue;
    std::set<std::string> seen;
    const std::string found = obstacle(graph, graph.node(node.inputs[0]), seen);
    if (!found.empty()) throw Error(fmt::format("[cache] '{}' cannot keep what lies below it: {}", node.id, found));
  }
  return graph;
}

}  // namespace ridgeline::data
