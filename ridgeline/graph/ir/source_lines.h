// ridgeline/graph/ir/source_lines.h
//
// The text of the lines that locations name, where their files are there to be read. Files are read once; one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ridgeline/core/location.h"

namespace ridgeline {

class SourceLines {
 public:
  // The line without its end, on one line of printable text; "" where the file is not there (or is no text to show).
  std::string line(const Location& at);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace ridgeline
