// ridgeline/format/tfrecord_index.h
//
// The offset index of a plain TFRecord file, kept on disk between runs. Keyed by the file's absolute path, size and
// modification time; a stale, foreign or damaged cache file counts as absent, and a directory that cannot be written is
// no error: the index is built again. Any thread and process may load and store (files are replaced atomically).
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
