// ridgeline/data/source/record_labels.h
//
// The labels of the records of one file, and what they are called. Every record is read once: what was found in a file
// of 1 MiB and more is kept in the index cache (format/wire/index_cache.h) for later runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ridgeline/format/record/tfrecord.h"

namespace ridgeline::data {

struct RecordLabels {
  // "" if no record has one; records that call a class otherwise leave it without a name.
  struct Texts {
    std::string text, synset;
    bool several_texts = false, several_synsets = false;

    void add(const Texts& other);
  };
  std::map<std::int64_t, Texts> by_label;  // as stored
  bool from_zero = false;                  // the keys of the records say so (record_keys.h)
};

// Records that are damaged or have no label are passed over: who reads them says so. Behind several files,
// bound_index_directory() (patterns.h) is to be called.
RecordLabels labels_of(const TFRecordFile& file);

// What stored labels start from: 1 as slim's ImageNet has it, 0 where there is a label 0 or the keys say it.
int label_base_of(const RecordLabels& labels);

}  // namespace ridgeline::data
