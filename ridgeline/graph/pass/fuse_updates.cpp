#include "ridgeline/graph/pass/fuse_updates.h"

#include <algorithm>
#include <map>
#include <set>

#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {
namespace {

constexpr std::int64_t kMostElements = 65536;  // larger updates use the team, and run where their gradient is made

// A vector's update whose rule is a loop expression over states, a gradient and scalars (whether the
// step counts is one of them).
bool small_update(const Graph& graph, const Node& node, const PassContext& context) {
  const OpDef& def = op_def(node.op);
  if (!def.has(kUpdate) || !def.has(kPointwise) || context.keep_apart.contains(node.name)) return false;
  const ValueType type = graph.value(node.outputs[0]).type;
  if (!context.fusion.takes({"update_group", "", type.dtype}) || type.shape.rank() > 1) return false;
  if (type.shape.elements() > kMostElements || node.inputs.size() < node.outputs.size() + 1) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueType& operand = graph.value(node.inputs[i]).type;
    const bool own = i <= node.outputs.size();
    const bool scalar = operand.shape.rank() == 0 && (operand.dtype == DType::f32 || operand.dtype == DType::boolean);
    if (own ? operand != type : !scalar) return false;
  }
  return true;
}

// Equal for updates that can be merged.
std::string rule_of(const Node& node) {
  std::string rule = loop::to_string(op_def(node.op).expression(node.attributes));
  rule += "; " + std::to_string(node.outputs.size());
  for (std::size_t i = node.outputs.size() + 1; i < node.inputs.size(); ++i)
    rule += " " + std::to_string(node.inputs[i]);
  return rule;
}

// The nodes `members` (ascending) as one, at the position of the last.
Node merged(const Graph& graph, const std::vector<int>& members) {
  const auto member = [&](int m) -> const Node& { return graph.nodes[static_cast<std::size_t>(m)]; };
  const Node& last = member(members.back());
  const std::size_t states = last.outputs.size();
  Node group;
  group.op = "update_group";
  group.name = last.name;
  group.attributes.set("expression", loop::to_string(op_def(last.op).expression(last.attributes)));
  for (int m : members) {
    const Node& node = member(m);
    group.inputs.insert(group.inputs.end(), node.inputs.begin(),
                        node.inputs.begin() + static_cast<std::ptrdiff_t>(states));
    group.outputs.insert(group.outputs.end(), node.outputs.begin(), node.outputs.end());
    add_locations(group, node);
  }
  for (int m : members) group.inputs.push_back(member(m).inputs[states]);
  group.inputs.insert(group.inputs.end(), last.inputs.begin() + static_cast<std::ptrdiff_t>(states) + 1,
                      last.inputs.end());
  return group;
}

}  // namespace

Graph fuse_updates(Graph graph, const PassContext& context, PassResults& results) {
  std::map<std::string, std::vector<int>> groups;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (small_update(graph, graph.nodes[n], context)) groups[rule_of(graph.nodes[n])].push_back(static_cast<int>(n));
  }
  std::set<int> gone;
  for (auto& [rule, members] : groups) {
    const int last = members.back();
    // Nor may the last one read another's result: both become one launch.
    std::erase_if(members, [&](int m) { return m != last && !may_run_later(graph, m, last + 1); });
    if (members.size() < 2) continue;
    Node group = merged(graph, members);
    results.fused.insert(group.name);
    for (int m : members) {
      if (m != last) gone.insert(m);
    }
    graph.nodes[static_cast<std::size_t>(last)] = std::move(group);
  }
  std::vector<Node> kept;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!gone.contains(static_cast<int>(n))) kept.push_back(std::move(graph.nodes[n]));
  }
  graph.nodes = std::move(kept);
  return graph;
}

}  // namespace ridgeline
