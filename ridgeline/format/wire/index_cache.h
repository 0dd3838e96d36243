// ridgeline/format/wire/index_cache.h
//
// Indexes of large files, kept on disk between runs: where the records of a TFRecord file or the members of an archive
// are. A cache, never an authority: keyed by the file's absolute path, size and modification time (of a URL: by that,
// its size and what its server calls its version), and a stale, foreign or damaged cache file counts as absent. A
// directory that cannot be written is no error: the index is built again. Any thread and process may load and store
// (files are replaced atomically).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ridgeline {

// What tells one kind of index from another.
struct IndexKind {
  std::string_view magic;   // 8 characters, with the version of the payload's layout
  std::string_view suffix;  // of the cache file's name
};

// What tells a file from others and from what it was before.
struct IndexedFile {
  std::string name;  // absolute
  std::uint64_t size = 0;
  std::uint64_t version = 0;
};

// A file on a disk; nullopt if it is not there or has another size.
std::optional<IndexedFile> indexed_file(const std::string& path, std::uint64_t size);

// What was stored for this file as it is now; nullopt if there is nothing. Counts as a use, for prune_index_cache.
std::optional<std::string> load_index_cache(const std::string& directory, const std::optional<IndexedFile>& file,
                                            const IndexKind& kind);
void store_index_cache(const std::string& directory, const std::optional<IndexedFile>& file, const IndexKind& kind,
                       std::string_view payload);

// Removes indexes, of any kind, until those in the directory take `limit` bytes at most: those that were used last
// longest ago go first. Other files stay. Nothing is an error: what another process removes meanwhile is gone.
void prune_index_cache(const std::string& directory, std::uint64_t limit);

// The same for any cache: regular files of `directory` whose names `belongs` takes. A file's time of writing counts as
// that of its last use, so who reads one sets it. The file `keep` counts, and stays.
void prune_cache_folder(const std::string& directory, std::uint64_t limit,
                        const std::function<bool(std::string_view name)>& belongs, std::string_view keep = {});

}  // namespace ridgeline
