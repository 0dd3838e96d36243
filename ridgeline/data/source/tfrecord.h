// ridgeline/data/source/tfrecord.h
//
// tf.train.Examples with the keys of slim's ImageNet or of TensorFlow Datasets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/source/record_options.h"

namespace ridgeline::data {

struct SourceEntry;  // source/source_entry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// TFRecord shards of tf.train.Examples with the slim ImageNet keys (image/encoded, image/class/label,
// image/object/bbox) or those of TensorFlow Datasets (image, label). Plain, GZIP or ZLIB. Columns: image bytes, label
// i32.
enum class LabelBase {
  automatic,  // 0 if any shard has a label 0 or the keys are those of TensorFlow Datasets, else 1
  zero,
  one,
};
// "auto", "0" or "1".
LabelBase parse_label_base(const std::string& text);
struct TFRecordOptions {
  LabelBase label_base = LabelBase::automatic;
  std::int64_t num_classes = 0;  // a label outside is an Error; 0: unknown, labels are not checked against it
  RecordFileOptions record_files = {};
};
// `pattern` as in a shell: "imagenet/train-*". Shards in the order of their names.
Dataset TFRecord(const std::string& pattern, TFRecordOptions options = {});
Dataset TFRecord(std::vector<std::string> files, TFRecordOptions options = {});
// For LabelBase::automatic with a known result: no file is searched for it. The graph is the same.
Dataset TFRecord(std::vector<std::string> files, TFRecordOptions options, int label_base);
// NOLINTEND(readability-identifier-naming)

SourceEntry tfrecord_source();

}  // namespace ridgeline::data
