// ridgeline/core/random_access_file.h
//
// A file that is read in pieces, at any place. Unlike a memory map, a file that is cut short or whose disk fails while
// it is open gives an Error to the reader that meets it; a map would end the process (SIGBUS). The price is one copy.
//
// Movable; any thread may read. A file keeps a descriptor as long as those that do so have at most half of what the
// process may open; files beyond that are opened again for every read, and must then be the same file still.
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
  // The same for bytes inside of size(): a file that ends before is an Error that says so.
  void read(std::uint64_t at, std::span<std::uint8_t> into) const;
  // What read() says of a file that gave `got` bytes from byte `at`: "the file ends at byte 12, it had 100 bytes ...".
  std::string cut_short(std::uint64_t at, std::size_t got) const;

 private:
  std::string path_;
  std::uint64_t size_ = 0;
  std::uint64_t device_ = 0, inode_ = 0;  // what is opened again must be the same
  int fd_ = -1;                           // or opened for every read
};

}  // namespace ridgeline
