// ridgeline/data/sample/jpeg_index_file.h
//
// JPEG indices (image/jpeg/index.h) kept on disk between runs, found by the content of the JPEG, so that runs over the
// same pictures share them whatever their order, transforms and ranks. A packed file (format/record/packed.h): row 0
// holds the keys, row i + 1 the index of key i. A cache, never an authority: what is damaged is made again.
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

// Tells the contents of JPEGs apart, by the file's size, its first kilobyte and samples of the rest. Two files with one
// key cost time only: an index knows by itself whether it belongs to a file.
std::uint64_t jpeg_content_key(std::span<const std::uint8_t> bytes);

// Immutable: any thread may read.
class JpegIndexFile {
 public:
  // A file that is missing, damaged or of another kind is an Error.
  explicit JpegIndexFile(const std::string& path);
  std::size_t size() const { return rows_.size(); }
  bool has(std::uint64_t key) const { return rows_.contains(key); }
  // False where there is none. A damaged row is an Error.
  bool read(std::uint64_t key, std::vector<std::uint8_t>& bytes) const;
  std::vector<std::uint64_t> keys() const;

 private:
  PackedFile file_;
  std::unordered_map<std::uint64_t, std::size_t> rows_;
};

using JpegIndexEntry = std::pair<std::uint64_t, std::vector<std::uint8_t>>;  // key, serialized index

// Where the indices of a run are kept.
struct JpegIndexPlace {
  std::string path = {};   // "": nowhere
  std::int64_t limit = 0;  // bytes of this file, and of all such files in its folder together
  std::int64_t least = 0;  // bytes of new indices for which the file is written
};

// The file in `directory` that belongs to `sources`, whatever tells data sets apart.
std::string jpeg_index_path(const std::string& directory, const std::string& sources);

// Replaces the file: the new entries, then those that were there, as far as the limit allows. Then the folder's oldest
// such files go until the limit holds there, too. A disk that is full or read-only is told to `log` (may be null).
void write_jpeg_index_file(const JpegIndexPlace& place, std::vector<JpegIndexEntry> entries, Log* log);

}  // namespace ridgeline::data
