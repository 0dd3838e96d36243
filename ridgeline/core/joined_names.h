// ridgeline/core/joined_names.h
//
// The names of a table's entries as one text, for help and errors. Pure functions.
#pragma once

#include <string>

namespace ridgeline {

// Separated by commas; entries without a name are left out.
template <class Entries, class Name>
std::string joined_names(const Entries& entries, const Name& name_of) {
  std::string names;
  for (const auto& entry : entries) {
    const std::string name(name_of(entry));
    if (!name.empty()) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}
template <class Entries>
std::string joined_names(const Entries& entries) {
  return joined_names(entries, [](const auto& entry) { return entry.name; });
}

}  // namespace ridgeline
