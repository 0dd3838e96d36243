// ridgeline/format/placed_file.h
//
// A new file that is written at any place, from any thread, and appears under its name only when it is complete:
// temporary name in the same directory, sync, rename. What AtomicFile (core/atomic_file.h) is for files written from
// front to back. Owned by one writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ridgeline {

class PlacedFile {
 public:
  explicit PlacedFile(const std::string& path);
  // Without commit() the temporary file is removed and an existing `path` keeps its old content.
  ~PlacedFile();
  PlacedFile(const PlacedFile&) = delete;
  PlacedFile& operator=(const PlacedFile&) = delete;

  const std::string& path() const { return path_; }
  // Any thread, also at the same time; the places must not overlap. What nobody writes reads as zeros.
  void write_at(std::uint64_t place, const void* data, std::size_t size);
  // Syncs, renames over path(), syncs the directory. Once, last, when no thread writes any more.
  void commit();

 private:
  std::string path_;
  std::string temporary_;  // empty after commit()
  int fd_ = -1;
};

}  // namespace ridgeline
