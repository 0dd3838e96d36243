// ridgeline/data/standard/data_dir.h
//
// Datasets of the parts of a data directory, whatever their layout: what the report of found data (found_data.h) says
// lies there, opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/source/sources.h"
#include "ridgeline/data/standard/found_data.h"

namespace ridgeline::data {

// "train", "val", "test" for any word that names a part (part_names.h); "" stays. Any other is a usage Error (--split).
std::string parse_split(const std::string& text);

// The part of that name, as parse_split gives it: "train", "val" (validation()), "test", or "" for the training part.
// Where nothing tells parts apart, all is training, and "" is all. A part that is not there is an Error that lists
// those that are.
const DataPart& find_part(const FoundData& found, const std::string& split);

struct OpenOptions {
  LabelBase label_base = LabelBase::automatic;  // records only
  std::string label_field = "auto";             // archives only: where the class stands (archive_classes.h)
  bool numbered_labels = false;                 // archives only: that labels are numbers is known, they are not read
  std::int64_t num_classes = 0;                 // records only; 0: labels are not checked
  std::optional<int> found_label_base = {};     // records only: the answer of label_base automatic, where it is known
  bool allow_missing_shards = false;            // records only; else shards that are not there are an Error
  // Class folders, and archives whose labels are names: the classes by label, whose numbers the labels are; empty: the
  // part's own, by name. A class of folders that is not among them is an Error, one without images here is not.
  std::vector<std::string> classes = {};
};
// A dataset of the records of a part, in their order, without transforms. Files that were listed are not listed again.
// Validation and test records take the label base of the training records beside them, as training does. Loose files
// are an Error, and so is what the part says it is refused for.
Dataset open_source(const FoundData& found, const DataPart& part, const OpenOptions& options = {});
// The Error of open_source about shards, for who reads the files before.
void refuse_missing_shards(const FoundData& found, const DataPart& part);
// open_source of find_part(find_data(dir), split).
Dataset open_source(const std::string& dir, const std::string& split = "", const OpenOptions& options = {});

}  // namespace ridgeline::data
