// ridgeline/core/random_access_file.h
//
// A file that is read in pieces, at any place. If the file is cut short or its disk fails while it is open, the reader
// gets an Error; with a memory map the process would end (SIGBUS). The price is one copy.
//
// Movable; any thread may read. Files keep their descriptors open until half of the descriptors that the process may
// have are in use; further files are opened for every read, and must then still be the same file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ridgeline {

class RandomAccessFile {
 public:
  RandomAccessFile() = default;
  // Anything but a regular file is an Error.
  explicit RandomAccessFile(const std::string& path);
  ~RandomAccessFile();
  RandomAccessFile(RandomAccessFile&& other) noexcept;
  RandomAccessFile& operator=(RandomAccessFile&& other) noexcept;

  const std::string& path() const { return path_; }
  // When it was opened.
  std::uint64_t size() const { return size_; }
  // Fills `into` from byte `at`; fewer bytes are returned only where the file ends.
  std::size_t read_some(std::uint64_t at, std::span<std::uint8_t> into) const;
  // The same for bytes below size(): an Error if the file has become shorter.
  void read(std::uint64_t at, std::span<std::uint8_t> into) const;
  // What read() says of a file that gave `got` bytes from byte `at`: "the file ends at byte 12, it had 100 bytes ...".
  std::string cut_short(std::uint64_t at, std::size_t got) const;

 private:
  std::string path_;
  std::uint64_t size_ = 0;
  std::uint64_t device_ = 0, inode_ = 0;  // to check that a reopened file is the same
  int fd_ = -1;                           // -1: opened for every read
};

}  // namespace ridgeline
