// tests/core/folder_fixture.h
//
// Gives each test a folder of its own, which is removed afterwards.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace ridgeline {

class FolderFixture : public ::testing::Test {
 protected:
  FolderFixture() {
    std::string name = (std::filesystem::temp_directory_path() / "ridgeline-test-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~FolderFixture() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  // Everything in the folder, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      result.push_back(entry.path().filename().string());
    std::sort(result.begin(), result.end());
    return result;
  }

  std::filesystem::path directory_;
};

}  // namespace ridgeline
