// ridgeline/data/source/files.h
//
// Whole files.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/api/dataset.h"

namespace ridgeline::data {

struct SourceEntry;  // source/source_entry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// Whole files by shell pattern: columns image (bytes) and path.
Dataset Files(std::vector<std::string> patterns);
// NOLINTEND(readability-identifier-naming)

SourceEntry files_source();

}  // namespace ridgeline::data
