// ridgeline/train/checkpoint/class_names.h
//
// The names of the classes of data and of checkpoints, and whether two sets of them are the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::train {

struct ClassNames {
  std::vector<std::string> names = {};  // by label, "" for one without a name; empty if the data tell none
  std::vector<std::string> ids = {};    // other names of the classes (synsets of ImageNet's records); may be empty
  bool complete = false;                // every class is included (folders), not only those that labels happen to name
};

// "class 3 is 'cat' there and 'dog' here (2 of 12 differ)", or "12 classes there, 10 here"; "" if there is no
// difference. A class is compared if both sides have a name for it, and is the same if its name or id is; the numbers
// of classes are compared if both are complete. `there` and `here` describe the two sides.
std::string class_difference(const ClassNames& a, std::string_view there, const ClassNames& b, std::string_view here);

}  // namespace ridgeline::train
