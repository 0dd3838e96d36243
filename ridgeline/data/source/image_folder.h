// ridgeline/data/source/image_folder.h
//
// Class folders.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/source/class_folders.h"

namespace ridgeline::data {

struct SourceEntry;  // source/source_entry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// Class folders: DIR/<class>/**/*.jpg. Classes sorted by name give labels 0, 1, ... Columns: image bytes, label i32.
struct ImageFolderOptions {
  std::vector<std::string> extensions = image_extensions();  // lower case; the content decides how to decode
  bool recursive = true;                                     // folders below a class's, too
  // Class indexing: only these folders, with these labels (empty: 0, 1, ... in their order).
  std::vector<std::string> classes = {};
  std::vector<std::int64_t> labels = {};
};
Dataset ImageFolder(const std::string& dir, ImageFolderOptions options = {});
// The same for a folder that was already listed with these options.
Dataset ImageFolder(const std::string& dir, ImageFolderOptions options, std::shared_ptr<const ClassFolders> listed);
// NOLINTEND(readability-identifier-naming)

SourceEntry image_folder_source();

}  // namespace ridgeline::data
