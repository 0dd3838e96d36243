// ridgeline/data/standard/found_text.h
//
// The text of a report of found data, shared by all commands. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/data/standard/found_data.h"

namespace ridgeline::data {

// "1 image", "8,400 images".
std::string counted(std::int64_t count, std::string_view what);
// "'bus', 'car' and 12 more".
std::string quoted(const std::vector<std::string>& names);
// The path relative to `root`; unchanged if it is elsewhere. That of a folder ends in '/', and is "" for `root` itself.
std::string place_below(const std::string& path, const std::string& root);
std::string folder_place(const std::string& path, const std::string& root);

// "samples/ (12 images; beside the parts)"; `unit` says what is counted. Without it: "notes/ (no images)", and for
// several of that name "2 Thumbs.db (of a file system)".
NotUsed not_used(std::string what, std::int64_t count, std::string_view unit, std::string reason);

// "1 image right in train/ (beside the class folders)".
NotUsed images_in(const std::string& place, std::int64_t count, std::string reason);
// Files by ending: "2 .tif, 1 .gif (not decoded)".
NotUsed files_by_ending(const std::map<std::string, std::int64_t>& endings, std::string reason);

// "; it holds 3 .txt, 1 without ending", "; it is empty": what a folder without data holds, for the end of an
// error.
std::string there_text(const FolderTree& tree);

// "train/ 8,400 images in 12 classes", "train-* 3 files of TFRecords".
std::string text_of(const DataPart& part);

// What a split is used for: "training", "validation", "evaluate --split=test".
std::string use_of(const FoundData& found, const DataPart& part);

// "validation is read from test/, ..." if the test split replaces a missing validation split; else "".
std::string validation_note(const FoundData& found);

// What one run does with a split.
struct PartUse {
  const DataPart* part = nullptr;
  std::string use;  // "training"
};
// "data: birds: train/ 8,400 images in 12 classes (training), valid/ 1,200 images in 12 classes (validation)".
std::string data_line(const FoundData& found, std::span<const PartUse> used);
// "not used: test/ (900 images; evaluate --split=test), 2 .tif (not decoded)", first the unused splits, then other
// contents; at most `most` entries, 0 for all. "" if everything is used.
std::string not_used_line(const FoundData& found, std::span<const PartUse> used, std::size_t most);

}  // namespace ridgeline::data
