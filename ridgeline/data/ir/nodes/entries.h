// ridgeline/data/ir/nodes/entries.h
//
// The lists from which the tables of registry.h are assembled, and the checks that their entries share.
#pragma once

#include "ridgeline/data/ir/registry.h"

namespace ridgeline::data {

std::vector<NodeEntry> source_entries();  // of source/table.cpp
std::vector<NodeEntry> order_entries();
std::vector<NodeEntry> sampler_entries();
std::vector<NodeEntry> row_entries();  // map, filter, columns, joins, cache
std::vector<NodeEntry> batch_entries();

// Errors "[op] name is 3, it must be at least 4".
std::int64_t at_least(const Node& node, const std::string& name, std::int64_t least);
void not_empty(const Node& node, const std::string& name);

// The schema and size rules of nodes with one input that change neither.
Schema same_schema(const Node& node, const std::vector<Schema>& inputs);
std::int64_t same_size(const Node& node, const std::vector<std::int64_t>& inputs);

// Seed of an order node: its own, or -1 for the graph's.
ArgSpec seed_arg();

}  // namespace ridgeline::data
