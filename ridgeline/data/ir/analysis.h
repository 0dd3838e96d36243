// ridgeline/data/ir/analysis.h
//
// What a graph says about itself without running: columns and rows at every node. Pure functions of the graph, except
// that those which need a number of records open its sources.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// An Error unless the graph can run: inputs before their readers, every node connected to the one output, at most one
// batch node, none of it below a join, and only order nodes above it; nothing random below a cache.
void check_structure(const DataGraph& graph);

// The nodes from the output down to the first branch or source, output first.
std::vector<const Node*> trunk_of(const DataGraph& graph);
// All sources, in the order of the graph.
std::vector<const Node*> sources_of(const DataGraph& graph);
// The batch node, or null.
const Node* batch_node(const DataGraph& graph);
// Nodes that read `id`.
std::vector<const Node*> readers_of(const DataGraph& graph, const std::string& id);

// Columns after every node, by id. Errors: a node that cannot take its input.
std::map<std::string, Schema> schemas_of(const DataGraph& graph);
Schema schema_of(const DataGraph& graph);
// Columns after the first `count` operations of a map or batch whose input is `input`; an encoded column is decoded
// where pixels are needed.
Schema schema_after(const Node& node, Schema input, std::size_t count);
// The columns that a map transforms.
const std::vector<std::string>& columns_of(const Node& map);
// True for boxes and box_labels, which follow the geometry of the column image.
bool follows_image(const std::string& column);
// Whether the map reads or changes the column.
bool touches(const Node& map, const std::string& column);

// If rows are divided by shard, a rank may have one row more than another. All ranks count the same batches: by the
// rank with the fewest rows if remainders are dropped, else by the one with the most.
enum class Share { own, fewest, most };
// Rows of one epoch after every node, by id; kForever or kUnknown.
std::map<std::string, std::int64_t> sizes_of(const DataGraph& graph, Share share = Share::own);
std::int64_t rows_of(const DataGraph& graph);

}  // namespace ridgeline::data
