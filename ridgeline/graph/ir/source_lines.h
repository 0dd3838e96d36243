// ridgeline/graph/ir/source_lines.h
//
// The text of the source lines that locations refer to, where their files can be read. Files are read once; one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ridgeline/core/location.h"

namespace ridgeline {

class SourceLines {
 public:
  // The line as printable text, without its line end; "" if the file cannot be read or is not text.
  std::string line(const Location& at);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace ridgeline
