// ridgeline/data/standard/found_data.h
//
// The found-data report: what lies in a data directory, what each part of it is for, and what is not used and why.
// Made once, by one walk that looks at names (record files are told by their first bytes where a name does not tell),
// and shared by training, evaluation, the tools and the bindings, so that none of them has an opinion of its own.
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
  loose_files,  // images without class folders: can be looked at, not trained on
};
// "class folders", "TFRecords", "packed file", "tar archives", "loose files".
std::string_view name_of(Layout layout);

// Something that is wrong with a part: a damaged listing, a missing shard. A folder's place ends in '/'.
struct ListingFault {
  std::string place, reason;  // the place relative to the directory
};

// One part of a data set.
struct DataPart {
  std::string name;  // "train", "val" or "test", whatever it is called there; "all" where nothing tells parts apart
  Layout layout = Layout::class_folders;
  std::string dir;                                   // where it lies
  std::string place;                                 // the same for people: "valid/", "train-*"; "" for all of it
  std::vector<std::string> files = {};               // of records, packed files and archives, sorted
  std::shared_ptr<const ClassFolders> folders = {};  // of class folders and loose files
  std::int64_t images = 0;                           // likewise; of records only reading tells
  std::vector<ListingFault> faults = {};
  std::string refusal = {};         // why it cannot be read, as the source would say it; "" if it can
  std::string empty_class = {};     // the same of a class folder without images: harmless where classes are known
  std::string missing_shards = {};  // why its shards are not all there; "" where they are, or their names do not tell
  // Why a training on it would learn nothing: it has one class. "" where it has several, or only reading tells.
  std::string one_class = {};
  // Files in it that are passed over, by their ending, lower case (".txt", "" without one), and the first by name.
  std::map<std::string, std::int64_t> other_files = {};
  std::string first_other_file = {};
};

// Something that lies there and is not read.
struct NotUsed {
  std::string what;        // "samples/", ".DS_Store", ".tif"
  std::int64_t count = 1;  // how many of that name or ending, or images and files in a folder
  std::string reason;      // "beside the parts", "hidden", "not decoded"
  std::string text;        // all of that: "2 .tif (not decoded)"
};

struct FoundData {
  std::string dir;
  std::vector<DataPart> parts;     // training first, then validation, then test; at least one
  std::vector<NotUsed> not_used;   // but for parts
  std::vector<std::string> notes;  // what is taken for what, where that is not plain; warnings begin with "warning: "

  // By its name: null if there is none.
  const DataPart* part(std::string_view name) const;
  // "train", or "all".
  const DataPart* training() const;
  // The part that a model is chosen by: "val", or, where there is none and the images of "test" have classes, that.
  const DataPart* validation() const;
  // What an evaluation reads that names no part: validation(), or "all".
  const DataPart* evaluated() const;
};

// Errors: a directory that is missing or holds no data (it says what was looked for and what is there), a training part
// without any, two training parts, and folders of which nobody can tell whether they are parts or classes.
FoundData find_data(const std::string& dir);

}  // namespace ridgeline::data
