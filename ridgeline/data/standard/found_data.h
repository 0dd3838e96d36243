// ridgeline/data/standard/found_data.h
//
// The found-data report: what a data directory contains, what each split is used for, and what is not used and why.
// Made once, by one walk that looks at names (and at the first bytes of files whose name does not tell whether they are
// records). Training, evaluation, the tools and the bindings share it, so that they always agree.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/data/source/class_folders.h"

namespace ridgeline::data {

enum class Layout {
  class_folders,
  records,  // TFRecord files
  packed,
  archives,     // tar archives in WebDataset's layout
  loose_files,  // images without class folders: can be viewed, but not trained on
};
// "class folders", "TFRecords", "packed file", "tar archives", "loose files".
std::string_view name_of(Layout layout);

// A fault of a split: a damaged listing, a missing shard. A folder's place ends in '/'.
struct ListingFault {
  std::string place, reason;  // the place relative to the directory
};

// One split of a data set.
struct DataPart {
  std::string name;  // "train", "val" or "test", whatever the folder's name; "all" if the data has no splits
  Layout layout = Layout::class_folders;
  std::string dir;                                   // its directory
  std::string place;                                 // the same for messages: "valid/", "train-*"; "" for all of it
  std::vector<std::string> files = {};               // of records, packed files and archives, sorted
  std::shared_ptr<const ClassFolders> folders = {};  // of class folders and loose files
  std::int64_t images = 0;                           // likewise; unknown for records until they are read
  std::vector<ListingFault> faults = {};
  std::string refusal = {};         // why it cannot be read, in the source's words; "" if it can
  std::string empty_class = {};     // the same for a class folder without images: harmless if classes are known
  std::string missing_shards = {};  // which shards are missing; "" if none are, or their names do not tell
  // Why training on it would learn nothing: it has one class. "" if it has several, or if only reading tells.
  std::string one_class = {};
  // Files in it that are skipped, by their lower-case ending (".txt", "" without one), and the first by name.
  std::map<std::string, std::int64_t> other_files = {};
  std::string first_other_file = {};
};

// Something in the directory that is not read.
struct NotUsed {
  std::string what;        // "samples/", ".DS_Store", ".tif"
  std::int64_t count = 1;  // how many of that name or ending, or images and files in a folder
  std::string reason;      // "beside the parts", "hidden", "not decoded"
  std::string text;        // all of that: "2 .tif (not decoded)"
};

struct FoundData {
  std::string dir;
  std::vector<DataPart> parts;     // training first, then validation, then test; at least one
  std::vector<NotUsed> not_used;   // without unused splits
  std::vector<std::string> notes;  // how ambiguous contents were understood; warnings begin with "warning: "

  // The split of that name; null if there is none.
  const DataPart* part(std::string_view name) const;
  // The split "train", or "all".
  const DataPart* training() const;
  // The split that models are chosen by: "val", or, if there is none, "test", if its images have classes.
  const DataPart* validation() const;
  // What an evaluation reads by default: validation(), or "all".
  const DataPart* evaluated() const;
};

// Errors: a directory that is missing or holds no data (the message says what was looked for and what is there), a
// training split without data, two training splits, and folders that could be either splits or classes.
FoundData find_data(const std::string& dir);

}  // namespace ridgeline::data
