#include "ridgeline/graph/pass/fuse_updates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/pass/derived_casts.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {
namespace {

constexpr std::int64_t kMostElements = 65536;  // larger updates use the team, and run where their gradient is made

// An update as an update_group takes it.
struct Member {
  int at = -1;  // the op
  std::vector<ValueId> states, results, shared;
  ValueId gradient = kNoValue;
  std::string expression;  // over states, gradient and shared
  std::string kind;        // types
};

bool is_scalar(const ValueType& type) {
  return type.shape.rank() == 0 && (type.dtype == DType::f32 || type.dtype == DType::boolean);
}

// A vector's update whose rule is a loop expression over states, a gradient and scalars (whether the
// step counts is one of them).
std::optional<Member> vector_update(const Graph& graph, int at, const PassContext& context) {
  const Node& node = graph.nodes[static_cast<std::size_t>(at)];
  const OpDef& def = op_def(node.op);
  if (!def.has(kUpdate) || !def.has(kPointwise) || context.keep_apart.contains(node.name)) return {};
  const ValueType type = graph.value(node.outputs[0]).type;
  if (!context.fusion.takes({"update_group", "", type.dtype}) || type.shape.rank() > 1) return {};
  const std::size_t states = node.outputs.size();
  if (type.shape.elements() > kMostElements || node.inputs.size() < states + 1) return {};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueType& operand = graph.value(node.inputs[i]).type;
    if (i <= states ? operand != type : !is_scalar(operand)) return {};
  }
  const auto behind_states = node.inputs.begin() + static_cast<std::ptrdiff_t>(states);
  return Member{.at = at,
                .states = {node.inputs.begin(), behind_states},
                .results = node.outputs,
                .shared = {behind_states + 1, node.inputs.end()},
                .gradient = *behind_states,
                .expression = loop::to_string(def.expression(node.attributes)),
                .kind = {}};
}

// What a graph's updates replace, and the types of the casts of each.
struct Stored {
  std::map<ValueId, ValueId> current;  // by next value; kNoValue: several
  std::map<ValueId, std::string> casts;

  explicit Stored(const Graph& graph) {
    for (const Update& update : graph.updates) {
      const bool first = current.emplace(update.next, update.current).second;
      if (!first) current[update.next] = kNoValue;
    }
    for (const auto& [result, of] : derived_casts(graph))
      casts[of] += " " + std::string(name_of(graph.value(result).type.dtype));
  }
};

// The expression with operands[i] in place of operand i; nothing where one of `count` would not be read.
std::optional<std::string> renumbered(loop::Expression expression, const std::vector<std::int32_t>& operands,
                                      std::size_t count) {
  std::set<std::int32_t> read;
  for (loop::Term& term : expression.terms) {
    if (term.kind == loop::Kind::random_uniform) return {};
    if (term.kind != loop::Kind::operand) continue;
    term.operand = operands[static_cast<std::size_t>(term.operand)];
    read.insert(term.operand);
  }
  expression.operands = static_cast<std::int32_t>(count);
  if (read.size() != count) return {};
  return loop::to_string(loop::canonical(expression));
}

// Any op that is a loop expression and whose every result is the next version of an f32 operand, by one gradient in any
// type and scalars.
std::optional<Member> weight_update(const Graph& graph, int at, const PassContext& context, const Stored& stored) {
  const Node& node = graph.nodes[static_cast<std::size_t>(at)];
  const OpDef& def = op_def(node.op);
  if (!def.expression || context.keep_apart.contains(node.name)) return {};
  const ValueType type = graph.value(node.outputs[0]).type;
  if (type.dtype != DType::f32 || !context.fusion.takes({"update_group", "", type.dtype})) return {};
  if (type.shape.rank() < 1 || type.shape.elements() > context.fusion.grouped_update_elements) return {};
  const loop::Expression expression = def.expression(node.attributes);
  Member member{.at = at, .results = node.outputs};
  std::vector<std::int32_t> operands(node.inputs.size(), -1);
  for (std::size_t r = 0; r < node.outputs.size(); ++r) {
    const auto update = stored.current.find(node.outputs[r]);
    const loop::Result& result = expression.results[r];
    if (update == stored.current.end() || result.ending != loop::Ending::store || result.type != DType::f32) return {};
    const auto input = std::find(node.inputs.begin(), node.inputs.end(), update->second);
    if (input == node.inputs.end() || graph.value(*input).type != type) return {};
    operands[static_cast<std::size_t>(input - node.inputs.begin())] = static_cast<std::int32_t>(r);
    member.states.push_back(*input);
    const auto casts = stored.casts.find(*input);
    member.kind += casts == stored.casts.end() ? "; " : ";" + casts->second;
  }
  const auto states = static_cast<std::int32_t>(member.states.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueType& operand = graph.value(node.inputs[i]).type;
    if (operands[i] >= 0) continue;
    if (is_scalar(operand)) {
      member.shared.push_back(node.inputs[i]);
      operands[i] = states + static_cast<std::int32_t>(member.shared.size());
    } else if (member.gradient == kNoValue && operand.shape == type.shape && is_floating(operand.dtype)) {
      member.gradient = node.inputs[i];
      operands[i] = states;
      member.kind += "; " + std::string(name_of(operand.dtype));
    } else {
      return {};
    }
  }
  if (member.gradient == kNoValue) return {};
  const auto text = renumbered(expression, operands, member.states.size() + 1 + member.shared.size());
  if (!text) return {};
  member.expression = *text;
  return member;
}

// Equal for updates that can be merged.
std::string rule_of(const Member& member) {
  std::string rule = member.expression + "; " + std::to_string(member.states.size()) + member.kind;
  for (ValueId id : member.shared) rule += " " + std::to_string(id);
  return rule;
}

// The updates (in the order of the ops) as one, at the position of the last.
Node merged(const Graph& graph, const std::vector<Member>& members) {
  const Member& last = members.back();
  Node group;
  group.op = "update_group";
  group.name = graph.nodes[static_cast<std::size_t>(last.at)].name;
  group.attributes = complete_attributes(op_def(group.op), {{"expression", last.expression}});
  for (const Member& m : members) {
    group.inputs.insert(group.inputs.end(), m.states.begin(), m.states.end());
    group.outputs.insert(group.outputs.end(), m.results.begin(), m.results.end());
    add_locations(group, graph.nodes[static_cast<std::size_t>(m.at)]);
  }
  for (const Member& m : members) group.inputs.push_back(m.gradient);
  group.inputs.insert(group.inputs.end(), last.shared.begin(), last.shared.end());
  return group;
}

template <class MemberOf>
Graph grouped(Graph graph, PassResults& results, const MemberOf& member_of) {
  std::map<std::string, std::vector<Member>> groups;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (auto member = member_of(graph, static_cast<int>(n))) groups[rule_of(*member)].push_back(std::move(*member));
  }
  std::set<int> gone;
  for (auto& [rule, members] : groups) {
    const int last = members.back().at;
    // Nor may the last one read another's result: both become one launch.
    std::erase_if(members, [&](const Member& m) { return m.at != last && !may_run_later(graph, m.at, last + 1); });
    if (members.size() < 2) continue;
    Node group = merged(graph, members);
    results.fused.insert(group.name);
    for (const Member& m : members) {
      if (m.at != last) gone.insert(m.at);
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

}  // namespace

Graph fuse_updates(Graph graph, const PassContext& context, PassResults& results) {
  return grouped(std::move(graph), results, [&](const Graph& g, int at) { return vector_update(g, at, context); });
}

Graph group_updates(Graph graph, const PassContext& context, PassResults& results) {
  if (context.fusion.grouped_update_elements == 0) return graph;
  const Stored stored(graph);
  return grouped(std::move(graph), results,
                 [&](const Graph& g, int at) { return weight_update(g, at, context, stored); });
}

}  // namespace ridgeline
