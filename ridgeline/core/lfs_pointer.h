// ridgeline/core/lfs_pointer.h
//
// What Git LFS leaves in the place of a file that was not fetched: a few lines of text that name it
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace ridgeline {

// `head` is the whole file or its beginning.
inline bool is_lfs_pointer(std::span<const std::uint8_t> head) {
  constexpr std::string_view kFirstLine = "version https://git-lfs.github.com/spec/";
  return head.size() >= kFirstLine.size() && std::equal(kFirstLine.begin(), kFirstLine.end(), head.begin());
}

}  // namespace ridgeline
