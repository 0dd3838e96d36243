// ridgeline/format/wire/stored_file.h
//
// Bytes at any place of a file, on a disk (local_file) or at a URL (format/remote/http_file.h). Immutable: any thread
// may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ridgeline/format/wire/index_cache.h"

namespace ridgeline {

class StoredFile {
 public:
  virtual ~StoredFile() = default;
  virtual const std::string& path() const = 0;  // or URL, as messages show it
  virtual std::uint64_t size() const = 0;       // when it was opened
  // Fills `into` from byte `at`; fewer bytes are returned only where the file ends. What cannot be read is an Error.
  virtual std::size_t read_some(std::uint64_t at, std::span<std::uint8_t> into) const = 0;
  // Why read_some() gave `got` bytes only.
  virtual std::string cut_short(std::uint64_t at, std::size_t got) const = 0;
  // How much a sequential reader should read at a time, so that it does not wait for every piece; 0: what it needs.
  virtual std::size_t read_ahead() const { return 0; }
  // Identifies the file, in the version that was opened, in an index cache; nullopt: no index of it can be cached.
  virtual std::optional<IndexedFile> indexed() const = 0;
  // For caches of the contents: a file of the same path has another version if its contents may differ. 0: unknown.
  virtual std::uint64_t version() const = 0;
};

std::unique_ptr<const StoredFile> local_file(const std::string& path);

}  // namespace ridgeline
