#include "ridgeline/core/temporary_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <limits>
#include <string_view>

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = ".ridgeline-";
constexpr std::string_view kEnd = ".tmp";
constexpr std::size_t kNameKept = 200;   // of the target's name: a name has at most 255 bytes
constexpr std::int64_t kSilence = 3600;  // seconds
constexpr int kMostNames = 10'000;

// Local disks, where every writer's lock is seen: ext, xfs, btrfs, tmpfs, overlay, f2fs, zfs.
constexpr std::array<std::uint32_t, 7> kLocalDisks{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,       BTRFS_SUPER_MAGIC,
                                                   TMPFS_MAGIC,      OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                                                   0x2fc12fc1};

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_our_name(std::string_view name) {
  const std::size_t mark = name.rfind(kMark);
  if (!name.starts_with('.') || !name.ends_with(kEnd) || mark == std::string_view::npos || mark == 0) return false;
  name.remove_suffix(kEnd.size());
  name.remove_prefix(std::min(name.size(), mark + kMark.size()));
  const std::size_t dash = name.find('-');
  return dash != std::string_view::npos && is_number(name.substr(0, dash)) && is_number(name.substr(dash + 1));
}

std::string stem_of(const fs::path& target) {
  std::string name = target.filename().string();
  if (name.size() > kNameKept) name.resize(kNameKept);
  return "." + name + std::string(kMark) + std::to_string(::getpid()) + "-";
}

// Takes the lock of a file that was just made. False if a process that looked for stale files was faster.
bool hold(int fd) {
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;  // other errors: a disk without locks
  struct stat info {};
  return ::fstat(fd, &info) == 0 && info.st_nlink > 0;
}

// The file is ours to remove: its name fits, no process writes it, and the name still refers to it.
void remove_if_stale(const fs::path& path, std::int64_t written_before) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  struct stat held {
  }, named{};
  if (::fstat(fd, &held) == 0 && S_ISREG(held.st_mode) && held.st_mtim.tv_sec <= written_before &&
      ::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::lstat(path.c_str(), &named) == 0 && named.st_ino == held.st_ino &&
      named.st_dev == held.st_dev)
    ::unlink(path.c_str());
  ::close(fd);
}

}  // namespace

TemporaryFile make_temporary(const fs::path& target) {
  static std::atomic<unsigned> counter{0};
  const fs::path directory = target.has_parent_path() ? target.parent_path() : ".";
  const std::string stem = stem_of(target);
  for (int tries = 0; tries < kMostNames; ++tries) {
    const std::string path = (directory / (stem + std::to_string(counter++) + std::string(kEnd))).string();
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST) continue;  // of another process with our number
    if (fd < 0) return {};
    if (hold(fd)) {
      remove_stale_temporaries(directory, fd);
      return {fd, path};
    }
    ::close(fd);
  }
  errno = EEXIST;
  return {};
}

void remove_stale_temporaries(const fs::path& directory, int reference) {
  struct statfs disk {};
  struct stat now {};
  if (::fstatfs(reference, &disk) != 0 || ::fstat(reference, &now) != 0) return;
  const auto kind = static_cast<std::uint32_t>(disk.f_type);
  const bool local = std::find(kLocalDisks.begin(), kLocalDisks.end(), kind) != kLocalDisks.end();
  const std::int64_t written_before =
      local ? std::numeric_limits<std::int64_t>::max() : std::int64_t{now.st_mtim.tv_sec} - kSilence;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (is_our_name(at->path().filename().string())) remove_if_stale(at->path(), written_before);
  }
}

}  // namespace ridgeline
