#include "ridgeline/core/random_access_file.h"

#include <sys/resource.h>

#include <atomic>

#include "ridgeline/core/error.h"
#include "ridgeline/core/open_file.h"

namespace ridgeline {
namespace {

// Descriptors that files of this process keep.
std::atomic<std::int64_t> kept{0};

std::int64_t most_kept() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<std::int64_t>(limit.rlim_cur / 2);
}

}  // namespace

RandomAccessFile::RandomAccessFile(const std::string& path) : path_(path) {
  struct stat info {};
  Descriptor file = open_regular_file(path, info);
  size_ = static_cast<std::uint64_t>(info.st_size);
  device_ = info.st_dev;
  inode_ = info.st_ino;
  if (kept.fetch_add(1) < most_kept()) {
    fd_ = std::exchange(file.fd, -1);
  } else {
    kept.fetch_sub(1);
  }
}

RandomAccessFile::~RandomAccessFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  kept.fetch_sub(1);
}

RandomAccessFile::RandomAccessFile(RandomAccessFile&& other) noexcept
    : path_(std::move(other.path_)),
      size_(std::exchange(other.size_, 0)),
      device_(other.device_),
      inode_(other.inode_),
      fd_(std::exchange(other.fd_, -1)) {}

RandomAccessFile& RandomAccessFile::operator=(RandomAccessFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  std::swap(fd_, other.fd_);
  return *this;
}

std::size_t RandomAccessFile::read_some(std::uint64_t at, std::span<std::uint8_t> into) const {
  int fd = fd_;
  Descriptor again;
  if (fd < 0) {
    struct stat info {};
    Descriptor file = open_regular_file(path_, info);
    if (info.st_dev != device_ || info.st_ino != inode_)
      throw Error("cannot read " + path_ + ": it was replaced by another file while it was in use");
    fd = file.fd;
    std::swap(again.fd, file.fd);
  }
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n = ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_on_file("read", path_);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

void RandomAccessFile::read(std::uint64_t at, std::span<std::uint8_t> into) const {
  const std::size_t got = read_some(at, into);
  if (got < into.size()) throw Error("cannot read " + path_ + ": " + cut_short(at, got));
}

std::string RandomAccessFile::cut_short(std::uint64_t at, std::size_t got) const {
  const std::string before = "it had " + std::to_string(size_) + " bytes when it was opened";
  if (got == 0) return "the file has been cut short, " + before;
  return "the file has been cut short at byte " + std::to_string(at + got) + ", " + before;
}

}  // namespace ridgeline
