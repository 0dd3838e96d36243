// ridgeline/data/standard/record_classes.h
//
// The classes of records: the first label, how many classes there are, and their names in the records. Reads every
// record once (source/record_labels.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::data {

struct RecordClasses {
  int label_base = 0;
  std::int64_t count = 0;          // one more than the greatest label
  std::vector<std::string> names;  // image/class/text by label, "" if there is none or several; empty: no label has one
  std::vector<std::string> ids;    // image/class/synset, likewise; empty if it is the same
  std::optional<std::int64_t> least;  // of the labels as stored; nullopt: no record has a readable one
};

// `label_base` is subtracted from stored labels; nullopt: 0 if any file has a label 0 (or keys that say so), else 1.
// Records that are damaged or have no label, and labels below the base or beyond 32 bits, are skipped.
RecordClasses find_record_classes(const std::vector<std::string>& files, std::optional<int> label_base,
                                  int workers = 0);

}  // namespace ridgeline::data
