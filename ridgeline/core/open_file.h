// ridgeline/core/open_file.h
//
// Opening files for reading, for the classes of this folder that do it.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace ridgeline {

// A file descriptor that closes itself.
struct Descriptor {
  explicit Descriptor(int f = -1) : fd(f) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(Descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int fd;
};

// "cannot open PATH: No such file or directory".
[[noreturn]] void fail_on_file(const std::string& what, const std::string& path, int error = errno);

// A regular file and what the system says of it. A folder, a FIFO, a device or a socket is an Error that says which,
// and is not opened: opening a FIFO waits for its writer, and reading a device may never end.
Descriptor open_regular_file(const std::string& path, struct stat& info);

}  // namespace ridgeline
