// ridgeline/data/source/record_files.h
//
// The TFRecord files of a source node: arguments files, file_shards, file_shard and inflate_limit.
#pragma once

#include "ridgeline/data/source/several_files.h"
#include "ridgeline/data/source/source.h"
#include "ridgeline/format/tfrecord.h"

namespace ridgeline::data {

// Opens every file_shards-th file from file_shard on. Fewer files than parts, no records at all, and compressed files
// that together take more than inflate_limit bytes of memory are Errors that name op and file.
SeveralFiles<TFRecordFile> open_record_files(const Node& node);

}  // namespace ridgeline::data
