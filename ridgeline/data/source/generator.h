// ridgeline/data/source/generator.h
//
// Rows from user code (ir/generators.h).
#pragma once

#include <string>

#include "ridgeline/data/api/dataset.h"

namespace ridgeline::data {

struct SourceEntry;  // source/source_entry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// Rows from user code, by the name given to register_generator or register_stream (ir/generators.h).
Dataset FromGenerator(const std::string& name);
Dataset FromStream(const std::string& name);
// NOLINTEND(readability-identifier-naming)

SourceEntry generator_source();

}  // namespace ridgeline::data
