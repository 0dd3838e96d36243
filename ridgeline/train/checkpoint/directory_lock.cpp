#include "ridgeline/train/checkpoint/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/train/run_files.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) { return std::generic_category().message(error); }

// What the owner wrote: " (process 4711)", or "" before it has.
std::string owner_of(int fd) {
  std::array<char, 32> text{};
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  std::string digits;
  for (ssize_t i = 0; i < n && text[static_cast<std::size_t>(i)] >= '0' && text[static_cast<std::size_t>(i)] <= '9';
       ++i)
    digits += text[static_cast<std::size_t>(i)];
  return digits.empty() ? "" : " (process " + digits + ")";
}

// Whether this file is the one that a path names: both may have been removed and recreated.
bool is_named(int fd, const std::string& path) {
  struct stat open {
  }, named{};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

}  // namespace

// False where the file that was opened is no longer the one of that name: its owner has just removed it.
bool DirectoryLock::take() {
  const std::string directory = fs::path(path_).parent_path().string();
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
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
  if (is_named(fd_, path_)) return true;
  ::close(fd_);
  return false;
}

DirectoryLock::DirectoryLock(const std::string& directory) : path_((fs::path(directory) / kLockFile).string()) {
  std::error_code none;
  fs::path missing = fs::absolute(directory, none).lexically_normal();
  if (!missing.has_filename()) missing = missing.parent_path();  // a slash at its end
  for (; missing.has_filename() && !fs::exists(missing, none); missing = missing.parent_path())
    made_.push_back(missing.string());
  make_directories(directory);
  while (!take()) {
  }
  const std::string text = std::to_string(::getpid()) + "\n";
  // If this cannot be written, the lock has no process number.
  if (::ftruncate(fd_, 0) == 0 && ::pwrite(fd_, text.data(), text.size(), 0) < 0) return;
}

DirectoryLock::~DirectoryLock() {
  if (is_named(fd_, path_)) ::unlink(path_.c_str());
  ::close(fd_);
  for (const std::string& directory : made_) {
    if (::rmdir(directory.c_str()) != 0) break;  // it holds something
  }
}

}  // namespace ridgeline::train
