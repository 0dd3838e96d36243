#include "ridgeline/compile/rank_groups.h"

#include "ridgeline/graph/ir/node_error.h"

namespace ridgeline {

std::shared_ptr<comm::Communicator> group_of(const RankGroups& groups, const Graph& graph, const Node& start) {
  const std::int64_t ranks = start.attributes.integer("ranks");
  const std::string& name = start.attributes.string("group");
  const auto group = groups.find(name);
  if (group != groups.end() && group->second->size() == ranks) return group->second;
  if (group == groups.end() && ranks == 1) return comm::single_rank();
  const std::string where = start.where.empty() ? "" : " (" + start.where.front().to_string() + ")";
  const std::string has = group == groups.end()
                              ? "this session has no such group (SessionOptions::groups)"
                              : "that group of the session has " + std::to_string(group->second->size());
  throw NodeError("op " + start.name + " (" + start.attributes.string("collective") + ")" + where +
                      " exchanges values of the " + std::to_string(ranks) + " ranks of group '" + name + "', and " +
                      has,
                  graph.name, start.name);
}

}  // namespace ridgeline
