// ridgeline/data/source/patterns.h
//
// Lists of files as sources are given them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::data {

// Shell patterns and plain names to files, in the order given; the files of a pattern sorted by name. A pattern without
// a file is an Error "[op] no file matches ...".
std::vector<std::string> expand_patterns(std::string_view op, const std::vector<std::string>& patterns);

// Where the index of a large file is kept between runs ("" for small ones, whose index is quickly made).
std::string index_directory(const std::string& file);

}  // namespace ridgeline::data
