// ridgeline/data/source/several_files.h
//
// Records of several files, numbered consecutively.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline::data {

// `File` has path() and size(). Immutable after the last add().
template <class File>
class SeveralFiles {
 public:
  struct Place {
    const File* file;
    std::size_t record;
  };
  void add(File file) {
    files_.push_back(std::move(file));
    starts_.push_back(size() + files_.back().size());
  }
  std::uint64_t size() const { return starts_.empty() ? 0 : starts_.back(); }
  Place at(std::uint64_t index) const {
    RIDGELINE_CHECK(index < size(), "record outside the source");
    const auto file =
        static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), index) - starts_.begin());
    return {&files_[file], static_cast<std::size_t>(index - (file == 0 ? 0 : starts_[file - 1]))};
  }
  const std::vector<File>& files() const { return files_; }
  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    for (const File& file : files_) paths.push_back(file.path());
    return paths;
  }

 private:
  std::vector<File> files_;
  std::vector<std::uint64_t> starts_;  // of the next file, for each file
};

}  // namespace ridgeline::data
