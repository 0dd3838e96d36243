#include "ridgeline/format/wire/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/output_target.h"

namespace ridgeline {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw Error("cannot " + what + " " + path + ": " + std::generic_category().message(errno));
}

int open_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) fail("open", path);
  return fd;
}

}  // namespace

AppendFile::AppendFile(const std::string& path) : path_(path) {
  const OutputTarget target = output_target(path);
  file_ = !target.stream;
  fd_ = file_ ? open_file(path) : open_stream(target);
  if (fd_ < 0) fail("open", path);
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) ::close(fd_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), file_(other.file_) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(file_, other.file_);
  return *this;
}

std::uint64_t AppendFile::size() const {
  if (!file_) return 0;
  struct stat info {};
  if (::fstat(fd_, &info) != 0) fail("stat", path_);
  return static_cast<std::uint64_t>(info.st_size);
}

bool AppendFile::restore() {
  struct stat held {
  }, named{};
  if (!file_ || ::fstat(fd_, &held) != 0) return false;
  if (::stat(path_.c_str(), &named) == 0 && named.st_ino == held.st_ino && named.st_dev == held.st_dev) return false;
  try {
    make_directories(std::filesystem::path(path_).parent_path().string());
    *this = AppendFile(path_);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void AppendFile::append(std::string_view bytes) {
  restore();
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      reader_gone_ = errno == EPIPE;
      fail("write", path_);
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void AppendFile::truncate(std::uint64_t size) {
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) fail("truncate", path_);
}

void AppendFile::sync() {
  if (::fsync(fd_) != 0) fail("sync", path_);
}

}  // namespace ridgeline
