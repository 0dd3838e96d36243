#include "ridgeline/train/launch/followed_output.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::train {

FollowedOutput::FollowedOutput(std::string path) : path_(std::move(path)) {
  std::error_code none;
  const auto size = std::filesystem::file_size(path_, none);
  if (!none) shown_ = static_cast<std::int64_t>(size);
}

void FollowedOutput::show() {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  std::array<char, 1 << 16> bytes;
  for (;;) {
    const ssize_t size = ::pread(file, bytes.data(), bytes.size(), shown_);
    if (size <= 0) break;
    shown_ += size;
    std::fwrite(bytes.data(), 1, static_cast<std::size_t>(size), stdout);
  }
  ::close(file);
  if (std::fflush(stdout) == 0 || errno != EPIPE) return;
  std::clearerr(stdout);
  set_interrupted(true);
}

}  // namespace ridgeline::train
