// ridgeline/core/atomic_file.h
//
// A file that appears under its name only when it is complete: it is written under a temporary name in the same
// directory (temporary_file.h), synced and renamed. A symbolic link stays, and its target is replaced. What is not a
// file (devices, pipes, /dev/stdout) is written directly and never replaced (output_target.h). Owned by the writer of
// one file; one thread, except for write_at(). Callers that have the whole content use write_file_atomically (file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ridgeline {

class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  // Without commit() the temporary file is removed and an existing `path` keeps its old content.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& path() const { return path_; }
  // Appends to what was written so far.
  void write(const void* data, std::size_t size);
  // Writes at any place, from any thread, several at the same time; the ranges must not overlap. Bytes that nobody
  // writes are zeros. Does not move the place of write(). An Error for a pipe, which has no places.
  void write_at(std::uint64_t place, const void* data, std::size_t size);
  // Syncs, renames over path(), syncs the directory. Once, last.
  void commit();

 private:
  std::string path_;
  std::string target_;     // path_ with links followed
  std::string temporary_;  // empty after commit(), and for a stream
  int fd_ = -1;
};

}  // namespace ridgeline
