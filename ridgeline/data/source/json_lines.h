// ridgeline/data/source/json_lines.h
//
// One JSON object a line.
#pragma once

#include <string>

#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/source/manifest_options.h"

namespace ridgeline::data {

struct SourceEntry;  // source/source_entry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
Dataset JsonLines(const std::string& file, ManifestOptions options = {});
// NOLINTEND(readability-identifier-naming)

SourceEntry json_lines_source();

}  // namespace ridgeline::data
