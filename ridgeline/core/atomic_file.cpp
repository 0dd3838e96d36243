#include "ridgeline/core/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/core/output_target.h"
#include "ridgeline/core/temporary_file.h"

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
  const OutputTarget target = output_target(path);
  target_ = target.path;
  if (target.stream) {
    fd_ = open_stream(target);
    if (fd_ < 0) fail("open", path);
    return;
  }
  TemporaryFile temporary = make_temporary(target_);
  if (temporary.fd < 0) fail("create", path);
  fd_ = temporary.fd;
  temporary_ = std::move(temporary.path);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (fd_ >= 0) ::close(fd_);
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
      if (errno == ESPIPE) throw Error("cannot write " + path_ + ": a pipe cannot take what is not written in order");
      fail("write", path_);
    }
    from += n;
    place += static_cast<std::uint64_t>(n);
    size -= static_cast<std::size_t>(n);
  }
}

void AtomicFile::commit() {
  RIDGELINE_CHECK(fd_ >= 0, "commit() is called once");
  if (temporary_.empty()) {
    if (::close(std::exchange(fd_, -1)) != 0) fail("write", path_);
    return;
  }
  if (::fsync(fd_) != 0) fail("write", path_);
  // Closed only after the rename: the lock on the temporary file ends with it.
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("rename to", path_);
  temporary_.clear();
  ::close(std::exchange(fd_, -1));
  sync_directory(directory_of(target_));
}

}  // namespace ridgeline
