// ridgeline/compile/lower/rank_groups.h
//
// The groups of ranks with which a session's programs exchange values, by their names in graphs. A group of one rank
// needs no entry.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "ridgeline/comm/communicator.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

using RankGroups = std::map<std::string, std::shared_ptr<comm::Communicator>, std::less<>>;

// An Error that names the op unless every collective_start is followed by one collective_done that returns what was
// exchanged, and nothing else reads what is in flight.
void check_exchanges(const Graph& graph);

// The group of a collective_start. An Error that names the op if there is no such group, or it has another size.
std::shared_ptr<comm::Communicator> group_of(const RankGroups& groups, const Graph& graph, const Node& start);

}  // namespace ridgeline
