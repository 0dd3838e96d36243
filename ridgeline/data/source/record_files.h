// ridgeline/data/source/record_files.h
//
// The TFRecord files of a source node: arguments files, file_shards, file_shard and inflate_limit.
#pragma once

#include <vector>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/source/record_options.h"
#include "ridgeline/data/source/several_files.h"
#include "ridgeline/format/record/tfrecord.h"

namespace ridgeline::data {

// The shared arguments, with `others` among them; their values, from the options; and their check.
std::vector<ArgSpec> record_file_args(std::vector<ArgSpec> others);
Args with_record_files(Args args, const RecordFileOptions& options);
void check_record_files(const Node& node);

// Opens every file_shards-th file from file_shard on. Fewer files than shards, and no records at all, are Errors that
// name op and file.
SeveralFiles<TFRecordFile> open_record_files(const Node& node);

}  // namespace ridgeline::data
