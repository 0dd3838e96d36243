// ridgeline/data/standard/archive_classes.h
//
// The classes of tar archives: where labels are, how many classes there are, and their names. Every label is read once,
// and no image.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::data {

// Where the class is, as the argument of a tar source: "cls", "json:label", "/". `label` itself, or, for "auto", the
// default of the first sample (source/tar_labels.h); if it has none, an Error lists its fields.
std::string archive_label_field(const std::vector<std::string>& files, const std::string& label);

struct ArchiveClasses {
  std::vector<std::string> names;  // by label, sorted; empty: labels are numbers
  std::int64_t count = 0;          // as many as names, or one more than the greatest number
};

// `label` must not be "auto". Samples without a label are skipped: reading them says what is wrong. Errors: labels of
// which some are numbers and some names; no sample with a label.
ArchiveClasses find_archive_classes(const std::vector<std::string>& files, const std::string& label, int workers = 0);

}  // namespace ridgeline::data
