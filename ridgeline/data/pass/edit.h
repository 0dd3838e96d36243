// ridgeline/data/pass/edit.h
//
// The two edits that passes make along a chain of nodes with one reader each. The remaining nodes keep ids and names.
#pragma once

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// Removes a node with one input; its reader (or the output) reads its input instead.
void remove_node(DataGraph& graph, const std::string& id);
// Swaps a node with its input: input -> node becomes node -> input.
void swap_with_input(DataGraph& graph, const std::string& id);

}  // namespace ridgeline::data
