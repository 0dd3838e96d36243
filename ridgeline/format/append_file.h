// ridgeline/format/append_file.h
//
// A file that only grows: each append is one write to the system, so that a killed process leaves at most one torn
// piece at the end, and readers see every finished one at once. Owned by a writer of lines or records; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ridgeline {

class AppendFile {
 public:
  // Opens for appending; creates the file if it is not there.
  explicit AppendFile(const std::string& path);
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;

  const std::string& path() const { return path_; }
  std::uint64_t size() const;
  void append(std::string_view bytes);
  // Cuts the file to `size` bytes: removes a torn piece that an earlier process left.
  void truncate(std::uint64_t size);
  // Down to the disk, for what must survive a power cut.
  void sync();

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace ridgeline
