#include "ridgeline/compile/lower/rank_groups.h"

#include <algorithm>
#include <map>

#include "ridgeline/graph/ir/node_error.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/op/collective.h"

namespace ridgeline {
namespace {

[[noreturn]] void refuse(const Graph& graph, const Node& node, const std::string& why) {
  const std::string where = node.where.empty() ? "" : " (" + node.where.front().to_string() + ")";
  const std::string kind = op_def(node.op).has(kStart) ? node.attributes.string("collective") : node.op;
  throw NodeError("op " + node.name + " (" + kind + ")" + where + " " + why, graph.name, node.name);
}

// The types of what a start exchanges, which are those of its done's results.
std::vector<ValueType> exchanged_types(const Graph& graph, const Node& start) {
  if (!collective_rule(start).packed) return {graph.value(start.outputs[0]).type};
  std::vector<ValueType> types;
  for (const ValueId id : start.inputs) types.push_back(graph.value(id).type);
  if (start.attributes.boolean("conditional")) types.pop_back();
  return types;
}

}  // namespace

void check_exchanges(const Graph& graph) {
  struct Exchange {
    const Node* start;
    bool ended = false;
  };
  std::map<ValueId, Exchange> in_flight;  // by what their starts gave
  const auto check_end = [&](const Node& done, Exchange& exchange) {
    std::vector<ValueType> types;
    for (const ValueId result : done.outputs) types.push_back(graph.value(result).type);
    if (exchange.ended) refuse(graph, done, "ends an exchange that another op has ended");
    if (types != exchanged_types(graph, *exchange.start) ||
        done.attributes.integer("ranks") != exchange.start->attributes.integer("ranks"))
      refuse(graph, done, "gives other values than " + exchange.start->name + " exchanges");
    exchange.ended = true;
  };
  for (const Node& node : graph.nodes) {
    const OpDef& def = op_def(node.op);
    for (const ValueId id : node.inputs) {
      const auto found = in_flight.find(id);
      if (def.has(kDone)) {
        if (found == in_flight.end()) refuse(graph, node, "ends no exchange: its operand comes of no collective_start");
        check_end(node, found->second);
      } else if (found != in_flight.end()) {
        refuse(graph, node, "reads what " + found->second.start->name + " exchanges; only a collective_done may");
      }
    }
    if (def.has(kStart)) in_flight[node.outputs[0]] = {&node};
  }
  const auto check_inside = [&](ValueId id) {
    if (const auto found = in_flight.find(id); found != in_flight.end())
      refuse(graph, *found->second.start,
             "gives what is in flight; a step returns or keeps what collective_done gives");
  };
  for (const Return& r : graph.returns) check_inside(r.value);
  for (const Update& u : graph.updates) check_inside(u.next);
  for (const auto& [id, exchange] : in_flight) {
    if (!exchange.ended) refuse(graph, *exchange.start, "begins an exchange that no collective_done ends");
  }
}

std::shared_ptr<comm::Communicator> group_of(const RankGroups& groups, const Graph& graph, const Node& start) {
  const std::int64_t ranks = start.attributes.integer("ranks");
  const std::string& name = start.attributes.string("group");
  const auto group = groups.find(name);
  if (group != groups.end() && group->second->size() == ranks) return group->second;
  if (group == groups.end() && ranks == 1) return comm::single_rank();
  const std::string has = group == groups.end()
                              ? "this session has no such group (SessionOptions::groups)"
                              : "that group of the session has " + std::to_string(group->second->size());
  refuse(graph, start,
         "exchanges values of the " + std::to_string(ranks) + " ranks of group '" + name + "', and " + has);
}

}  // namespace ridgeline
