#include "ridgeline/train/launch/followed_output.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::train {

FollowedOutput::FollowedOutput(std::string path) : path_(std::move(path)) { shown_ = size(); }

void FollowedOutput::show() {
  constexpr std::int64_t kMost = 1 << 20;
  show_to(std::min(size(), shown_ + kMost));
}

void FollowedOutput::show_rest() { show_to(size()); }

std::int64_t FollowedOutput::size() const {
  std::error_code none;
  const auto size = std::filesystem::file_size(path_, none);
  return none ? 0 : static_cast<std::int64_t>(size);
}

void FollowedOutput::show_to(std::int64_t end) {
  if (closed_ || shown_ >= end) return;
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  std::array<char, 1 << 16> bytes;
  while (!closed_ && shown_ < end) {
    const auto wanted = std::min(bytes.size(), static_cast<std::size_t>(end - shown_));
    const ssize_t size = ::pread(file, bytes.data(), wanted, shown_);
    if (size <= 0) break;
    shown_ += size;
    const auto given = static_cast<std::size_t>(size);
    closed_ = (std::fwrite(bytes.data(), 1, given, stdout) != given || std::fflush(stdout) != 0) && errno == EPIPE;
  }
  ::close(file);
  if (!closed_) return;
  std::clearerr(stdout);
  set_interrupted(true);
}

}  // namespace ridgeline::train
