// ridgeline/data/ir/analysis.h
//
// What a graph says about itself without running: columns and rows at every node. Pure functions of the graph, but
// those that need a number of records open its source.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// The nodes from the source to the output. An Error for graphs that are not one chain (no node joins inputs yet).
std::vector<const Node*> chain_of(const DataGraph& graph);
const Node& source_node(const DataGraph& graph);
// The batch node, or null.
const Node* batch_node(const DataGraph& graph);

// Columns after every node, by id. Errors: a node that cannot take its input.
std::map<std::string, Schema> schemas_of(const DataGraph& graph);
Schema schema_of(const DataGraph& graph);
// Columns after the first `count` operations of a map whose input is `input`; an encoded image is decoded where needed.
Schema schema_after(const Node& map, Schema input, std::size_t count);

// Rows of one epoch after the whole graph, or after its first `count` nodes; kForever if endless.
std::int64_t rows_of(const DataGraph& graph);
std::int64_t rows_after(const std::vector<const Node*>& chain, std::size_t count);

}  // namespace ridgeline::data
