// ridgeline/data/source/record_labels.h
//
// The labels of the records of one file, and the names in the records. Every record is read once: for a file of at
// least 1 MiB the result is kept in the index cache (format/wire/index_cache.h) for later runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ridgeline/format/record/tfrecord.h"

namespace ridgeline::data {

struct RecordLabels {
  // "" if no record has a text, or if records of the class have different ones.
  struct Texts {
    std::string text, synset;
    bool several_texts = false, several_synsets = false;

    void add(const Texts& other);
  };
  std::map<std::int64_t, Texts> by_label;  // as stored
  bool from_zero = false;                  // the keys of the records say so (record_keys.h)
};

// Records that are damaged or have no label are skipped: reading them reports that. After several files, call
// bound_index_directory() (patterns.h).
RecordLabels labels_of(const TFRecordFile& file);

// The first stored label: 1 as in slim's ImageNet; 0 if there is a label 0 or the keys say so.
int label_base_of(const RecordLabels& labels);

}  // namespace ridgeline::data
