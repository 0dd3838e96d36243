// ridgeline/data/ir/registered_name.h
//
// Names of user code that is registered several times at once: "read", "read#1", "read#2". Which of them a graph gets
// depends on what else lives in its process, so hashes of graphs take the name without the number. Functions only.
#pragma once

#include <string>

namespace ridgeline::data {

inline std::string numbered(const std::string& name, int number) {
  return number == 0 ? name : name + "#" + std::to_string(number);
}

inline std::string without_number(const std::string& name) {
  const std::size_t at = name.find_last_not_of("0123456789");
  return at != std::string::npos && at + 1 < name.size() && name[at] == '#' ? name.substr(0, at) : name;
}

}  // namespace ridgeline::data
