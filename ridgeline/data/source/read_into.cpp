#include "ridgeline/data/source/read_into.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "ridgeline/core/error.h"

namespace ridgeline::data {
namespace {

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

[[noreturn]] void fail(const char* what, const std::string& path, int error = errno) {
  throw Error(std::string("cannot ") + what + " " + path + ": " + std::generic_category().message(error));
}

}  // namespace

void read_file_into(const std::string& path, std::string& content) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) fail("open", path);
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) fail("stat", path);
  if (S_ISDIR(info.st_mode)) fail("read", path, EISDIR);
  // One byte more than the size, so that the read that fills it sees the end; a file that grows is followed.
  content.resize(static_cast<std::size_t>(info.st_size) + 1);
  std::size_t done = 0;
  while (true) {
    if (done == content.size()) content.resize(2 * content.size() + 4096);
    const ssize_t n = ::read(file.fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  content.resize(done);
}

}  // namespace ridgeline::data
