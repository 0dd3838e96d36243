// ridgeline/data/source/csv.h
//
// Rows of a CSV file.
#pragma once

#include <string>

#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/source/manifest_options.h"

namespace ridgeline::data {

struct SourceEntry;  // source/source_entry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
struct CsvOptions {
  ManifestOptions manifest = {};
  char delimiter = ',';
  bool header = true;  // false: the columns must be given
};
Dataset Csv(const std::string& file, CsvOptions options = {});
// NOLINTEND(readability-identifier-naming)

SourceEntry csv_source();

}  // namespace ridgeline::data
