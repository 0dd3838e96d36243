// ridgeline/data/standard/validation_split.h
//
// A validation part for class folders that have none: a share of the images, chosen by what is in them. So an image
// stays where it is when others are added or removed and when files or folders get other names, a greater share holds
// all of a smaller one, and equal images are never on both sides. Functions only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/source/class_folders.h"

namespace ridgeline::data {

struct ValidationSplit {
  std::vector<std::int64_t> train, val;  // rows of ImageFolder(dir)
  std::vector<std::string> notes;        // how many are taken, and which classes have none on one of the sides
};

// `share` in (0, 1); `workers` as in for_each. Errors: those of class folders, a file that cannot be read, and a share
// that leaves one of the sides without any image.
ValidationSplit split_by_content(const std::string& dir, double share, int workers);
// The same of a folder that was listed before.
ValidationSplit split_by_content(const std::string& dir, const ClassFolders& folders, double share, int workers);

// Where the content of a file puts it in [0, 1): in the validation part, where that is below the share. A hash of the
// file's size, of its first 16 KiB and of its last 4 KiB, in which files of compressed pixels differ.
double content_position(const std::string& path);

}  // namespace ridgeline::data
