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

// `head` is the whole file or its beginning, at least 12 bytes: no other format that is read here begins so.
inline bool is_lfs_pointer(std::span<const std::uint8_t> head) {
  constexpr std::string_view kFirstLine = "version https://git-lfs.github.com/spec/";
  const std::size_t size = std::min(head.size(), kFirstLine.size());
  return size >= 12 && std::equal(kFirstLine.begin(), kFirstLine.begin() + size, head.begin());
}

// What readers say of one.
inline constexpr const char* kLfsPointerText = "is a Git LFS pointer, not the file itself: run git lfs pull";

}  // namespace ridgeline
