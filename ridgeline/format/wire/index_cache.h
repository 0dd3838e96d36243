// ridgeline/format/wire/index_cache.h
//
// Indexes of large files, kept on disk between runs: where the records of a TFRecord file or the members of an archive
// are. They are only a cache: keyed by the file's absolute path, size and modification time (a URL's by the URL, its
// size and its server's version), and a stale, foreign or damaged cache file counts as absent. If the directory cannot
// be written, that is no error: the index is rebuilt next time. Any thread and process may load and store (files are
// replaced atomically).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ridgeline {

// Identifies a kind of index.
struct IndexKind {
  std::string_view magic;   // 8 characters, with the version of the payload's layout
  std::string_view suffix;  // of the cache file's name
};

// Identifies a file and its version.
struct IndexedFile {
  std::string name;  // absolute
  std::uint64_t size = 0;
  std::uint64_t version = 0;
};

// A file on a disk; nullopt if it does not exist or has another size.
std::optional<IndexedFile> indexed_file(const std::string& path, std::uint64_t size);

// What was stored for this version of the file; nullopt if nothing was. Counts as a use, for prune_index_cache.
std::optional<std::string> load_index_cache(const std::string& directory, const std::optional<IndexedFile>& file,
                                            const IndexKind& kind);
void store_index_cache(const std::string& directory, const std::optional<IndexedFile>& file, const IndexKind& kind,
                       std::string_view payload);

// Removes indexes of all kinds, least recently used first, until those in the directory take at most `limit` bytes.
// Other files stay. Never fails: files that another process removes meanwhile are ignored.
void prune_index_cache(const std::string& directory, std::uint64_t limit);

// The same for any cache: the regular files of `directory` whose names `belongs` accepts. A file's modification time
// counts as its last use, so readers set it. The file `keep` counts, and stays.
void prune_cache_folder(const std::string& directory, std::uint64_t limit,
                        const std::function<bool(std::string_view name)>& belongs, std::string_view keep = {});

}  // namespace ridgeline
