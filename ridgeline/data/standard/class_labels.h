// ridgeline/data/standard/class_labels.h
//
// Labels by the names of classes: a split of class folders gets the labels that another split, or a checkpoint, gave
// classes of the same names. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/standard/found_data.h"

namespace ridgeline::data {

struct NamedLabels {
  ClassFolders folders;                   // the classes of the split that have images
  std::vector<std::int64_t> labels = {};  // of each
  bool same = false;                      // the classes are exactly the known ones, in their order
};
// `known`: names by label. A class of the split that is not among them is an Error with a suggestion.
NamedLabels labels_by_names(const FoundData& found, const DataPart& part, const std::vector<std::string>& known);

// "warning: validation has no image of 'wren'" for `who` "validation has"; "" if each of `known` has one.
std::string missing_classes(const DataPart& part, const std::vector<std::string>& known, const std::string& who);

}  // namespace ridgeline::data
