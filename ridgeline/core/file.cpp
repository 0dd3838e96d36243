#include "ridgeline/core/file.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, int error = errno) {
  throw Error("cannot " + what + " " + path + ": " + std::generic_category().message(error));
}

// A file descriptor that closes itself.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

void write_all(int fd, const char* data, std::size_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t n = ::write(fd, data, size);
    if (n < 0) {
      if (errno == EINTR) continue;
      fail("write", path);
    }
    data += n;
    size -= static_cast<std::size_t>(n);
  }
}

void sync_directory(const std::filesystem::path& directory) {
  Descriptor d{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (d.fd >= 0) ::fsync(d.fd);  // some file systems refuse; the rename itself has happened
}

}  // namespace

std::string read_file(const std::string& path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) fail("open", path);
  struct stat info{};
  if (::fstat(file.fd, &info) != 0) fail("stat", path);
  if (S_ISDIR(info.st_mode)) fail("read", path, EISDIR);
  std::string content(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = ::read(file.fd, content.data() + done, content.size() - done);
    if (n < 0) {
      if (errno == EINTR) continue;
      fail("read", path);
    }
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  content.resize(done);
  return content;
}

void write_file_atomically(const std::string& path, const std::function<void(const Sink&)>& write) {
  // The process and a counter make the temporary name unique among ranks and threads of one machine.
  static std::atomic<unsigned> counter{0};
  const std::filesystem::path target(path);
  const std::filesystem::path directory = target.has_parent_path() ? target.parent_path() : ".";
  const std::string temporary = (directory / ("." + target.filename().string() + ".tmp-" + std::to_string(::getpid()) +
                                              "-" + std::to_string(counter++))).string();
  try {
    {
      Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)};
      if (file.fd < 0) fail("create", temporary);
      write([&](const void* data, std::size_t size) {
        write_all(file.fd, static_cast<const char*>(data), size, path);
      });
      if (::fsync(file.fd) != 0) fail("write", path);
      const int fd = std::exchange(file.fd, -1);
      if (::close(fd) != 0) fail("write", path);
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail("rename to", path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_directory(directory);
}

void write_file_atomically(const std::string& path, std::string_view content) {
  write_file_atomically(path, [&](const Sink& sink) { sink(content.data(), content.size()); });
}

std::vector<std::string> glob_files(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      std::error_code ignored;
      if (std::filesystem::is_regular_file(found.gl_pathv[i], ignored)) paths.emplace_back(found.gl_pathv[i]);
    }
  }
  ::globfree(&found);
  return paths;
}

MappedFile::MappedFile(const std::string& path) : path_(path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) fail("open", path);
  struct stat info{};
  if (::fstat(file.fd, &info) != 0) fail("stat", path);
  if (S_ISDIR(info.st_mode)) fail("read", path, EISDIR);
  size_ = static_cast<std::size_t>(info.st_size);
  if (size_ == 0) return;
  void* p = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (p == MAP_FAILED) fail("map", path);
  data_ = static_cast<const std::uint8_t*>(p);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace ridgeline
