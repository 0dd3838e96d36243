// ridgeline/data/standard/archive_classes.h
//
// The classes that the labels of tar archives speak of: where a label stands, how many classes there are, and their
// names. Every label is read once, and no image.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::data {

// Where the class stands, as a tar source takes it: "cls", "json:label", "/". `label` itself, or, for "auto", what the
// first sample suggests (source/tar_labels.h); one that suggests nothing is an Error with the fields that it has.
std::string archive_label_field(const std::vector<std::string>& files, const std::string& label);

struct ArchiveClasses {
  std::vector<std::string> names;  // by label, sorted; empty: labels are numbers
  std::int64_t count = 0;          // as many as names, or one more than the greatest number
};

// `label`: a place, not "auto". Samples without a label are passed over: reading them says what is wrong. Errors:
// labels of which some are numbers and some names; no sample with a label.
ArchiveClasses find_archive_classes(const std::vector<std::string>& files, const std::string& label, int workers = 0);

}  // namespace ridgeline::data
