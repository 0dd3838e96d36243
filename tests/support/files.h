// tests/support/files.h
//
// Shared by tests of files: a temporary folder, reading and writing bytes, the location of the real data.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/core/bytes.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "tests/support/error_of.h"

namespace ridgeline {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ridgeline-format-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline void put_file(const std::string& path, std::string_view content) {
  // Writes a new file: some file systems immediately sync a file that is truncated and rewritten.
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

// A copy of a record, to which views can refer.
template <class File>
std::string record_of(const File& file, std::size_t i) {
  std::string storage;
  return as_text(file.record(i, storage));
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// A path inside packA, or "" if this machine does not have the real data.
inline std::string pack_path(const std::string& relative) {
  const char* root = std::getenv("RIDGELINE_TEST_DATA");
  if (root == nullptr || *root == '\0') return "";
  const std::string path = std::string(root) + "/packA/" + relative;
  return std::filesystem::exists(path) ? path : "";
}

#define SKIP_WITHOUT(path) \
  if ((path).empty()) GTEST_SKIP() << "RIDGELINE_TEST_DATA does not name the folder of packA"

// Truncates the file at each byte. `use` opens and reads the file at `path`. For each, `content` must give an Error
// that starts with `prefix`, unless whole(n) says that its first n bytes are a complete file.
void expect_cuts_are_errors(const std::string& path, std::string_view content, std::string_view prefix,
                            const std::function<void()>& use, const std::function<bool(std::size_t)>& whole);
// With one to four random bytes changed, `use` must return or throw an Error that starts with a bracket: nothing may
// crash, hang or read outside (under the sanitizers). Returns how many files were refused.
int expect_flips_are_survived(const std::string& path, std::string_view content, const std::function<void()>& use,
                              int files = 2000);

}  // namespace ridgeline
