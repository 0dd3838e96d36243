// ridgeline/data/standard/validation_split.h
//
// A validation split for class folders that have none: a share of the images, chosen by their content. So an image
// stays in its split when others are added or removed and when files or folders are renamed, a larger share contains
// all of a smaller one, and equal images are never in both splits. Functions only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/source/class_folders.h"

namespace ridgeline::data {

struct ValidationSplit {
  std::vector<std::int64_t> train, val;  // rows of ImageFolder(dir)
  std::vector<std::string> notes;        // how many are taken, and which classes have none in one of the splits
};

// `share` in (0, 1); `workers` as in for_each. Errors: those of class folders, a file that cannot be read, and a share
// that leaves one of the splits without images.
ValidationSplit split_by_content(const std::string& dir, double share, int workers);
// The same for a folder that was already listed.
ValidationSplit split_by_content(const std::string& dir, const ClassFolders& folders, double share, int workers);

// The position of a file in [0, 1), from its content; below the share, the file is for validation. A hash of the file's
// size, of its first 16 KiB and of its last 4 KiB, in which files of compressed pixels differ.
double content_position(const std::string& path);

}  // namespace ridgeline::data
