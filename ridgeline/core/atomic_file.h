// ridgeline/core/atomic_file.h
//
// A new file that appears under its name only when it is complete: written under a temporary name in the same
// directory (temporary_file.h), synced, renamed. A link stays and what it points to is replaced. What is no file
// (devices, pipes, /dev/stdout) is written to at once and never replaced (output_target.h). Owned by the writer of one
// file; one thread, but for write_at(). write_file_atomically (file.h) is the form for callers that have the content at
// hand.
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
  // Behind what was written so far.
  void write(const void* data, std::size_t size);
  // At any place, from any thread, also at the same time; the places must not overlap. What nobody writes reads as
  // zeros. Does not move the place of write(). An Error for a pipe, which has no places.
  void write_at(std::uint64_t place, const void* data, std::size_t size);
  // Syncs, renames over path(), syncs the directory. Once, last.
  void commit();

 private:
  std::string path_;
  std::string target_;     // path_ behind all links
  std::string temporary_;  // empty after commit(), and for a stream
  int fd_ = -1;
};

}  // namespace ridgeline
