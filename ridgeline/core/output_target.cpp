#include "ridgeline/core/output_target.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel's own limit

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error("cannot write " + path + ": " + std::generic_category().message(error));
}

// The number of the descriptor that a link of /proc/self/fd stands for. Its target is not a path to follow:
// "pipe:[4711]", or a file that is open although its name belongs to another by now.
std::optional<int> descriptor_of(const fs::path& link) {
  std::error_code none;
  const fs::path folder = fs::canonical(link.parent_path(), none);
  if (none || folder != fs::canonical("/proc/self/fd", none) || none) return std::nullopt;
  const std::string name = link.filename().string();
  int number = -1;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  if (parsed.ec != std::errc{} || parsed.ptr != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace

OutputTarget output_target(const std::string& path) {
  OutputTarget target{.path = path};
  for (int links = 0;; ++links) {
    struct stat info {};
    if (::lstat(target.path.c_str(), &info) != 0) {
      if (errno == ENAMETOOLONG) fail(path, errno);  // the temporary file's name would do
      return target;                                 // not there, or not to be reached: opening it tells why
    }
    if (S_ISDIR(info.st_mode)) fail(path, EISDIR);
    if (!S_ISLNK(info.st_mode)) {
      target.stream = !S_ISREG(info.st_mode);
      return target;
    }
    if (links == kMostLinks) fail(path, ELOOP);
    const fs::path link(target.path);
    if (const std::optional<int> descriptor = descriptor_of(link)) {
      target.stream = true;
      target.descriptor = *descriptor;
      return target;
    }
    std::error_code error;
    const fs::path next = fs::read_symlink(link, error);
    if (error) fail(path, error.value());
    target.path = (link.parent_path() / next).string();  // an absolute one stays as it is
  }
}

std::string behind_links(const std::string& path) {
  std::error_code error;
  fs::path at(path);
  for (int links = 0; links < kMostLinks && fs::is_symlink(at, error) && !error; ++links)
    at = at.parent_path() / fs::read_symlink(at, error);
  return at.string();
}

int open_stream(const OutputTarget& target) {
  if (target.descriptor >= 0) {
    std::fflush(stdout);
    return ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 3);
  }
  return ::open(target.path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
}

}  // namespace ridgeline
