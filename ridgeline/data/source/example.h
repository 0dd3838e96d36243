// ridgeline/data/source/example.h
//
// tf.train.Examples with typed columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/source/record_options.h"

namespace ridgeline::data {

struct SourceEntry;  // source/source_entry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
struct ExamplesOptions {
  std::string schema = "";                // JSON file with types and shapes; empty: as the first record shows them
  std::vector<std::string> columns = {};  // that are read; empty: all
  std::string label = "";                 // the one of these that holds the class: becomes label, i32; empty: none
  std::int64_t label_base = 0;            // subtracted from stored labels
  std::int64_t num_classes = 0;           // labels outside are errors; 0: unknown
  RecordFileOptions record_files = {};
};
// tf.train.Examples of any keys in TFRecord files: typed columns.
Dataset Examples(std::vector<std::string> files, ExamplesOptions options = {});
// NOLINTEND(readability-identifier-naming)

SourceEntry example_source();

}  // namespace ridgeline::data
