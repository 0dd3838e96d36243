// ridgeline/format/wire/append_file.h
//
// A file that only grows: each append is one write to the system, so that a killed process leaves at most one torn
// record at the end, and readers see every finished one at once. If the file was removed meanwhile (a log folder
// deleted during a run), the next append makes it again, with its folder, so that nothing written is lost. Devices,
// pipes and /dev/stdout are written to directly. Owned by a writer of lines or records; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ridgeline {

class AppendFile {
 public:
  // Opens for appending; creates the file if it is not there. Opening a pipe waits for its reader.
  explicit AppendFile(const std::string& path);
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;

  const std::string& path() const { return path_; }
  // False for a device, a pipe or /dev/stdout: nothing can be read back or cut off, and size() is 0.
  bool is_file() const { return file_; }
  std::uint64_t size() const;
  // If the path no longer exists or is another file, opens it as the constructor does and returns true. If that fails,
  // later appends go to the old file, which nobody can find: the run matters more than its log.
  bool restore();
  void append(std::string_view bytes);
  // Whether the last append failed because nobody reads the pipe any more.
  bool reader_gone() const { return reader_gone_; }
  // Cuts the file to `size` bytes: removes a torn record that an earlier process left.
  void truncate(std::uint64_t size);
  // Syncs to the disk, for what must survive a power cut.
  void sync();

 private:
  std::string path_;
  int fd_ = -1;
  bool file_ = true;
  bool reader_gone_ = false;
};

}  // namespace ridgeline
