// ridgeline/data/source/in_memory.h
//
// Columns held in memory.
#pragma once

#include <vector>

#include "ridgeline/data/api/dataset.h"

namespace ridgeline::data {

struct SourceEntry;  // source/source_entry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// Columns in memory, all with the same first extent. A u8 column "image" [N,H,W,C] can be transformed; others pass
// through.
Dataset InMemory(std::vector<NamedTensor> columns);
// NOLINTEND(readability-identifier-naming)

SourceEntry in_memory_source();

}  // namespace ridgeline::data
