// ridgeline/data/pass/edit.h
//
// The two edits that passes make along a chain of single readers. They keep ids and names of everything that stays.
#pragma once

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// Takes a node with one input out; its reader (or the output) reads its input instead.
void remove_node(DataGraph& graph, const std::string& id);
// Exchanges a node with its input: input -> node becomes node -> input.
void swap_with_input(DataGraph& graph, const std::string& id);

}  // namespace ridgeline::data
