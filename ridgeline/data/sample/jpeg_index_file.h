// ridgeline/data/sample/jpeg_index_file.h
//
// JPEG indices (image/jpeg/index.h) kept on disk between runs, found by the content of the JPEG, so that runs over the
// same pictures share them, whatever their order, transforms and ranks. A packed file (format/record/packed.h): row 0
// holds the keys, row i + 1 the index of key i. Only a cache: damaged indices are rebuilt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ridgeline/core/log.h"
#include "ridgeline/format/record/packed.h"

namespace ridgeline::data {

// A key for the contents of a JPEG, from the file's size, its first kilobyte and samples of the rest. Two files with
// the same key only cost time: an index itself recognises whether it belongs to a file.
std::uint64_t jpeg_content_key(std::span<const std::uint8_t> bytes);

// Immutable: any thread may read.
class JpegIndexFile {
 public:
  // A file that is missing, damaged or of another kind is an Error.
  explicit JpegIndexFile(const std::string& path);
  std::size_t size() const { return rows_.size(); }
  bool has(std::uint64_t key) const { return rows_.contains(key); }
  // False if there is none. A damaged row is an Error.
  bool read(std::uint64_t key, std::vector<std::uint8_t>& bytes) const;
  std::vector<std::uint64_t> keys() const;

 private:
  PackedFile file_;
  std::unordered_map<std::uint64_t, std::size_t> rows_;
};

using JpegIndexEntry = std::pair<std::uint64_t, std::vector<std::uint8_t>>;  // key, serialized index

// Where the indices of a run are kept.
struct JpegIndexPlace {
  std::string path = {};   // "": not kept
  std::int64_t limit = 0;  // bytes of this file, and of all such files in its folder together
  std::int64_t least = 0;  // bytes of new indices from which on the file is written
};

// The file in `directory` for `sources`, a text that identifies the data.
std::string jpeg_index_path(const std::string& directory, const std::string& sources);

// Replaces the file by the new entries and then the old ones, as far as the limit allows. Then deletes the oldest such
// files of the folder until it, too, is within the limit. `log` (may be null) is told of a disk that is full or
// read-only.
void write_jpeg_index_file(const JpegIndexPlace& place, std::vector<JpegIndexEntry> entries, Log* log);

}  // namespace ridgeline::data
