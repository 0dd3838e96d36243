// ridgeline/data/make/make_tfrecord.h
//
// Packs class folders FROM/train/<class>/* and, if it exists, FROM/val/<class>/* (or test/, if that replaces it) into
// sharded TFRecords with the slim ImageNet keys: OUT/train-00000-of-00008, ..., OUT/validation-00000-of-00002. Labels
// are stored 1-based.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ridgeline/data/make/make_shapes.h"

namespace ridgeline::data {

struct MakeTFRecordOptions {
  std::int64_t train_shards = 0;       // 0: one per 64 MiB of images, at least one, at most 1024
  std::int64_t validation_shards = 0;  // the same, at most 128
  std::uint64_t seed = 0;  // training records are shuffled before packing; validation keeps the order of names
  Progress progress = {};
};
struct UnreadableImage {
  std::string file;
  std::string reason;
};
struct MakeTFRecordReport {
  std::int64_t train_records = 0;
  std::int64_t validation_records = 0;
  std::vector<std::string> class_names;
  std::vector<std::string> files;
  std::vector<UnreadableImage> unreadable;  // left out of the shards
  std::vector<std::string> notes;           // what is not packed, and how ambiguous folders were understood
};
// Shards appear when all of them are written: a run that fails or is stopped leaves none. A folder without splits is
// one of classes, all for training (standard/found_data.h). Errors: an empty class folder of training, a validation
// split without a training split, or one with classes that training does not have.
MakeTFRecordReport make_tfrecord(const std::string& from_dir, const std::string& out_dir,
                                 const MakeTFRecordOptions& options = {});

}  // namespace ridgeline::data
