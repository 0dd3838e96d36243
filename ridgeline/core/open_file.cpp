#include "ridgeline/core/open_file.h"

#include <fcntl.h>

#include <system_error>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

void refuse_special(const std::string& path, const struct stat& info) {
  if (S_ISREG(info.st_mode)) return;
  if (S_ISDIR(info.st_mode)) fail_on_file("read", path, EISDIR);
  const char* kind = S_ISFIFO(info.st_mode)                           ? "a FIFO"
                     : S_ISSOCK(info.st_mode)                         ? "a socket"
                     : S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode) ? "a device"
                                                                      : "something else";
  throw Error("cannot read " + path + ": it is " + kind + ", a file is expected");
}

}  // namespace

void fail_on_file(const std::string& what, const std::string& path, int error) {
  throw Error("cannot " + what + " " + path + ": " + std::generic_category().message(error));
}

Descriptor open_regular_file(const std::string& path, struct stat& info) {
  if (::stat(path.c_str(), &info) != 0) fail_on_file("open", path);
  refuse_special(path, info);
  // Should it be replaced between the two calls, a FIFO is not waited for either.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) fail_on_file("open", path);
  if (::fstat(file.fd, &info) != 0) fail_on_file("stat", path);
  refuse_special(path, info);
  return file;
}

}  // namespace ridgeline
