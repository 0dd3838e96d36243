// ridgeline/data/source/record_options.h
//
// What sources of record files have in common (tfrecord.h, example.h).
#pragma once

#include <cstdint>

namespace ridgeline::data {

// How files of records are shared out and held.
struct RecordFileOptions {
  // Sharding by file: every file_shards-th file from file_shard on, no other is opened. Parts are as unequal as the
  // files. Dataset::shard shares out rows instead: parts are equal to a row, a shuffle below it mixes all files, and a
  // run goes on with another number of ranks (a state of a sharded-by-file run belongs to its number of parts).
  std::int64_t file_shards = 1;
  std::int64_t file_shard = 0;
  // Compressed files are inflated in blocks: bytes of memory for those of all files together. What does not fit is
  // inflated again when it is needed.
  std::int64_t inflate_limit = std::int64_t{4} << 30;
};

}  // namespace ridgeline::data
