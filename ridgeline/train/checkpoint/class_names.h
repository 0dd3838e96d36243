// ridgeline/train/checkpoint/class_names.h
//
// What the classes of data, and of the checkpoint made from them, are called, and whether two of them are the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::train {

struct ClassNames {
  std::vector<std::string> names = {};  // by label, "" for one without a name; empty where the data tell none
  std::vector<std::string> ids = {};    // the same by another name, as the synsets of ImageNet's records; may be empty
  bool complete = false;                // every class is there (folders), not only those that labels happen to name
};

// "class 3 is 'cat' there and 'dog' here (2 of 12 differ)", or "12 classes there, 10 here"; "" where there is no
// difference. A class is compared where both sides have a name of it, and is the same if a name or an id is; numbers
// are, where both are complete. `there` and `here` say whose they are.
std::string class_difference(const ClassNames& a, std::string_view there, const ClassNames& b, std::string_view here);

}  // namespace ridgeline::train
