// ridgeline/data/source/record_options.h
//
// What sources of record files have in common (tfrecord.h, example.h).
#pragma once

#include <cstdint>

namespace ridgeline::data {

// How files of records are divided between ranks and held in memory.
struct RecordFileOptions {
  // Sharding by file: every file_shards-th file from file_shard on; no other is opened. Shards are as unequal as the
  // files. Dataset::shard divides rows instead: shards differ by at most one row, a shuffle below it mixes all files,
  // and a run can continue with another number of ranks (the state of a run that is sharded by file needs the same
  // number of shards).
  std::int64_t file_shards = 1;
  std::int64_t file_shard = 0;
  // Compressed files are inflated in blocks: memory in bytes for the blocks of all files together. Blocks that do not
  // fit are inflated again when needed.
  std::int64_t inflate_limit = std::int64_t{4} << 30;
};

}  // namespace ridgeline::data
