// ridgeline/data/standard/data_dir.h
//
// What lies in a data directory, decided in one place for all tools: TFRecord shards (train-*, validation-*), class
// folders (train/<class>/*, val/<class>/*, or <class>/* alone), packed files (*.ridge). Where several lie side by side,
// packed files are taken, then shards. A folder test/ or validation/ stands for a missing val/. Looks at names, opens
// nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/data/source/sources.h"

namespace ridgeline::data {

enum class Layout {
  class_folders,
  records,  // TFRecord files
  packed,
  loose_files,  // images without class folders: can be looked at, not trained on
};
// "class folders", "TFRecords", "packed file", "loose files".
std::string_view name_of(Layout layout);

// One part of a data set.
struct DataPart {
  std::string name;  // "train", "val", or "all" where the directory does not tell parts apart
  Layout layout = Layout::class_folders;
  std::string dir;                 // of class folders and loose files
  std::vector<std::string> files;  // of records and packed files, sorted
  std::string note = {};           // which folder was taken, where that is not plain from its name
};

// All parts, training first. A directory that is missing or holds nothing of the above is an Error that says what was
// looked for; so is an empty folder train or val.
std::vector<DataPart> find_parts(const std::string& dir);
// Whether there is a part "val".
bool has_validation(std::span<const DataPart> parts);
// The part of that name: "train", "val", or "" for the training part. A directory that does not tell parts apart is all
// training; one with validation alone has none. Any other name is a usage Error, a part that is not there an Error that
// lists those that are.
DataPart find_part(const std::string& dir, const std::string& split);

struct OpenOptions {
  LabelBase label_base = LabelBase::automatic;  // records only
  std::int64_t num_classes = 0;                 // records only; 0: labels are not checked
};
// A dataset of the records of find_part(dir, split), in their order, without transforms. Validation records take the
// label base of the training records beside them, as training does. Loose files are an Error.
Dataset open_source(const std::string& dir, const std::string& split = "", const OpenOptions& options = {});

}  // namespace ridgeline::data
