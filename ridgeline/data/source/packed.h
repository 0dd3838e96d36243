// ridgeline/data/source/packed.h
//
// Ridgeline's own files of rows.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/api/dataset.h"

namespace ridgeline::data {

struct SourceEntry;  // source/source_entry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// Ridgeline's own files of rows (ridgeline dataset pack).
Dataset Packed(std::vector<std::string> files, std::vector<std::string> columns = {});
// NOLINTEND(readability-identifier-naming)

SourceEntry packed_source();

}  // namespace ridgeline::data
