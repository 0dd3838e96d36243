// ridgeline/data/source/handle.h
//
// The source of one node, opened on first use and shared by all copies of the graph (ir/source_handle.h). Any thread.
#pragma once

#include <memory>

#include "ridgeline/data/ir/source_handle.h"
#include "ridgeline/data/source/source.h"

namespace ridgeline::data {

// `whole`: a node with more of the columns, whose open files this one shares; null: none.
std::shared_ptr<SourceHandle> make_source_handle(const Node* whole);
// The handle of a source that is open already.
std::shared_ptr<SourceHandle> handle_of_open(std::unique_ptr<Source> open);

// The rules of all source nodes. For a node without a handle, what only files tell throws NotOpened.
Schema columns_of_source(const Node& node);
std::int64_t records_of_source(const Node& node);

}  // namespace ridgeline::data
