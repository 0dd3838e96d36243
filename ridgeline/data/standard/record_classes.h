// ridgeline/data/standard/record_classes.h
//
// The classes that the labels of slim ImageNet records speak of: how many there are, and what the records call them.
// Reads every record once: what it found in a file is kept in the index cache (format/wire/index_cache.h) for later
// runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::data {

struct RecordClasses {
  std::int64_t count = 0;          // one more than the greatest label
  std::vector<std::string> names;  // image/class/text by label, "" where there is none or several; empty: no label has
  std::vector<std::string> ids;    // image/class/synset, likewise; empty where it says nothing else
};

// `label_base` is subtracted from stored labels. Records that are damaged or have no label, and labels below the base
// or beyond 32 bits, are passed over: who reads them says so.
RecordClasses find_record_classes(const std::vector<std::string>& files, int label_base, int workers = 0);

}  // namespace ridgeline::data
