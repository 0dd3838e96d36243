// ridgeline/format/record/tfrecord_index.h
//
// The offset index of a plain TFRecord file in an index cache (index_cache.h: a stale or damaged entry counts as
// absent, and one that cannot be written is no error). Any thread and process may load and store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline {

// `offsets` as in TFRecordFile: where each record starts, and the end of the last.
std::optional<std::vector<std::uint64_t>> load_tfrecord_index(const std::string& directory, const std::string& path,
                                                              std::uint64_t file_size);
void store_tfrecord_index(const std::string& directory, const std::string& path,
                          const std::vector<std::uint64_t>& offsets);

}  // namespace ridgeline
