#include "ridgeline/train/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) { return std::generic_category().message(error); }

// What the owner wrote; " (process 4711)", or "" in the moment before it has.
std::string owner_of(int fd) {
  std::array<char, 32> text{};
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  std::string digits;
  for (ssize_t i = 0; i < n && text[static_cast<std::size_t>(i)] >= '0' && text[static_cast<std::size_t>(i)] <= '9';
       ++i)
    digits += text[static_cast<std::size_t>(i)];
  return digits.empty() ? "" : " (process " + digits + ")";
}

}  // namespace

DirectoryLock::DirectoryLock(const std::string& directory) {
  make_directories(directory);
  const std::string path = (fs::path(directory) / ".lock").string();
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (fd_ < 0) throw Error("cannot write into " + directory + ": " + reason(errno));
  int result = 0;
  do {
    result = ::flock(fd_, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result != 0 && errno == EWOULDBLOCK) {
    const std::string owner = owner_of(fd_);
    ::close(fd_);
    throw Error("another training" + owner + " writes into " + directory +
                ": wait for its end, or give this one another directory");
  }
  const std::string text = std::to_string(::getpid()) + "\n";
  // What cannot be written leaves the lock without a name.
  if (::ftruncate(fd_, 0) == 0 && ::pwrite(fd_, text.data(), text.size(), 0) < 0) return;
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace ridgeline::train
