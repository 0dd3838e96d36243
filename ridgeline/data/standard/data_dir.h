// ridgeline/data/standard/data_dir.h
//
// Opens the splits of a data directory as datasets, whatever their layout, from the report of found data
// (found_data.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/data/source/sources.h"
#include "ridgeline/data/standard/found_data.h"

namespace ridgeline::data {

// "train", "val" or "test" for any word for a split (part_names.h); "" for "". Anything else is a usage Error
// (--split).
std::string parse_split(const std::string& text);

// The split of that name, as parse_split gives it: "train", "val" (validation()), "test", or "" for the training split.
// If the data has no splits, all of it is for training, and "" is all. A missing split is an Error that lists those
// that exist.
const DataPart& find_part(const FoundData& found, std::string_view split);

struct OpenOptions {
  LabelBase label_base = LabelBase::automatic;  // records only
  std::string label_field = "auto";             // archives only: where the class is (archive_classes.h)
  bool numbered_labels = false;                 // archives only: labels are known to be numbers and not read
  std::int64_t num_classes = 0;                 // records only; 0: labels are not checked
  std::optional<int> found_label_base = {};     // records only: the result of label_base automatic, if known
  bool allow_missing_shards = false;            // records only; false: missing shards are an Error
  // Class folders, and archives whose labels are names: the names of classes by label; empty: the split's own, sorted.
  // A folder's class that is not among them is an Error; a class without images is not.
  std::vector<std::string> classes = {};
};
// A dataset of the records of a split, in their order, without transforms. Files that were listed are not listed again.
// Validation and test records take the label base of the training records in the same directory, as training does.
// Loose files are an Error, and so is DataPart::refusal.
Dataset open_source(const FoundData& found, const DataPart& part, const OpenOptions& options = {});
// The Error of open_source about missing shards, for callers that read the files before.
void refuse_missing_shards(const FoundData& found, const DataPart& part);
// open_source of find_part(find_data(dir), split).
Dataset open_source(const std::string& dir, const std::string& split = "", const OpenOptions& options = {});

}  // namespace ridgeline::data
