// tests/support/temporary_directory.h
//
// A folder of this process, removed when it ends.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace ridgeline::testing {

inline const std::string& temporary_directory() {
  struct Folder {
    std::string path = ::testing::TempDir() + "/ridgeline-XXXXXX";
    Folder() {
      if (::mkdtemp(path.data()) == nullptr) path.clear();
    }
    ~Folder() {
      std::error_code ignored;
      if (!path.empty()) std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path;
}

}  // namespace ridgeline::testing
