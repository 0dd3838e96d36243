#include "ridgeline/core/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, int error = errno) {
  throw Error("cannot " + what + " " + path + ": " + std::generic_category().message(error));
}

std::filesystem::path directory_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

void sync_directory(const std::filesystem::path& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);  // some file systems refuse; the rename itself has happened
  ::close(fd);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  // The process and a counter make the temporary name unique among ranks and threads of one machine.
  static std::atomic<unsigned> counter{0};
  const std::filesystem::path target(path);
  const std::string name =
      "." + target.filename().string() + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  const std::string temporary = (directory_of(target) / name).string();
  fd_ = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd_ < 0) fail("create", path);
  temporary_ = temporary;
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t size) {
  auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::write(fd_, at, size);
    if (n < 0) {
      if (errno == EINTR) continue;
      fail("write", path_);
    }
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

void AtomicFile::write_at(std::uint64_t place, const void* data, std::size_t size) {
  auto* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::pwrite(fd_, from, size, static_cast<off_t>(place));
    if (n < 0) {
      if (errno == EINTR) continue;
      fail("write", path_);
    }
    from += n;
    place += static_cast<std::uint64_t>(n);
    size -= static_cast<std::size_t>(n);
  }
}

void AtomicFile::commit() {
  RIDGELINE_CHECK(fd_ >= 0, "commit() is called once");
  if (::fsync(fd_) != 0) fail("write", path_);
  if (::close(std::exchange(fd_, -1)) != 0) fail("write", path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename to", path_);
  temporary_.clear();
  sync_directory(directory_of(path_));
}

}  // namespace ridgeline
