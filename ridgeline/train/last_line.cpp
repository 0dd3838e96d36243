#include "ridgeline/train/last_line.h"

#include <sstream>

#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"

namespace ridgeline::train {

std::string last_line(const std::string& path, std::int64_t begin) {
  std::string last;
  std::istringstream text(is_regular_file(path) ? read_file(path) : "");
  text.seekg(begin);
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) last = line;
  }
  return printable(last);
}

}  // namespace ridgeline::train
