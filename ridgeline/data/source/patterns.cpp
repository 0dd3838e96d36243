#include "ridgeline/data/source/patterns.h"

#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/user_cache.h"
#include "ridgeline/format/remote/url.h"
#include "ridgeline/format/wire/index_cache.h"

namespace ridgeline::data {
namespace {

// Of ImageNet's TFRecords 20 MB, of as many samples in tar archives some 200 MB.
constexpr std::uint64_t kIndexBytes = std::uint64_t{4} << 30;

}  // namespace

std::string index_directory(const std::string& file, std::uintmax_t least_bytes) {
  std::error_code ignored;
  if (const std::uintmax_t size = std::filesystem::file_size(file, ignored); ignored || size < least_bytes) return "";
  return user_cache_directory();
}

void bound_index_directory() {
  if (const std::string directory = user_cache_directory(); !directory.empty())
    prune_index_cache(directory, kIndexBytes);
}

std::vector<std::string> expand_patterns(std::string_view op, const std::vector<std::string>& patterns, Urls urls) {
  std::vector<std::string> files;
  for (const std::string& pattern : patterns) {
    if (is_url(pattern)) {
      if (urls == Urls::refused) {
        throw Error("[" + std::string(op) + "] " + shown_url(pattern) +
                    ": of URLs, only tar archives are read (source tar); download the file first");
      }
      for (std::string& url : expand_url(pattern)) files.push_back(std::move(url));
      continue;
    }
    std::error_code ignored;
    if (pattern.find_first_of("*?[") == std::string::npos || std::filesystem::exists(pattern, ignored)) {
      files.push_back(pattern);
      continue;
    }
    const std::vector<std::string> found = glob_files(pattern);
    if (found.empty()) throw Error("[" + std::string(op) + "] no file matches " + pattern);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace ridgeline::data
