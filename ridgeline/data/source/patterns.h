// ridgeline/data/source/patterns.h
//
// Lists of files in the arguments of sources.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::data {

// Whether a source reads http:// and https://.
enum class Urls { refused, read };

// Shell patterns and plain names to files, in the order given; the files of a pattern sorted by name. A pattern without
// a file is an Error "[op] no file matches ...". URLs are expanded as format/remote/url.h says, or are an Error.
std::vector<std::string> expand_patterns(std::string_view op, const std::vector<std::string>& patterns,
                                         Urls urls = Urls::refused);

// Where the index of a large file is kept between runs; "" for a smaller one, whose index is made quickly. Finding the
// offsets of records touches one page for each record, and is quick up to 64 MiB.
std::string index_directory(const std::string& file, std::uintmax_t least_bytes = std::uintmax_t{64} << 20);

// Call once after files whose indexes were made: keeps all indexes together below 4 GiB.
void bound_index_directory();

}  // namespace ridgeline::data
