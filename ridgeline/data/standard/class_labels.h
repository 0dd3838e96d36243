// ridgeline/data/standard/class_labels.h
//
// Labels by the names of classes: a part of class folders that is read with the numbers that another part, or a
// checkpoint, gave the classes of the same names. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/standard/found_data.h"

namespace ridgeline::data {

struct NamedLabels {
  ClassFolders folders;                   // the classes of the part that have images
  std::vector<std::int64_t> labels = {};  // of each
  bool same = false;                      // they are those known, in their order, and the part has no others
};
// `known`: names by label. A class of the part that is not among them is an Error that says what it may be.
NamedLabels labels_by_names(const FoundData& found, const DataPart& part, const std::vector<std::string>& known);

// "warning: validation has no image of 'wren'" for `who` "validation has"; "" where each of `known` has one.
std::string missing_classes(const DataPart& part, const std::vector<std::string>& known, const std::string& who);

}  // namespace ridgeline::data
