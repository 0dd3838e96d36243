// ridgeline/format/remote/url.h
//
// Names of files that lie behind a URL.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

// http:// or https://, in any case.
bool is_url(std::string_view name);

// As messages may show it: without user, password and what follows '?', which may hold keys.
std::string shown_url(std::string_view url);

// WebDataset's way to write many shards: "http://host/train-{000..146}.tar" are 147 URLs, with as many digits as the
// first number has. Several ranges give all combinations, the last one fastest. Braces are no characters of a URL, so
// what is no range of numbers, low to high, is an Error; so are more than 1,000,000 URLs.
std::vector<std::string> expand_url(const std::string& url);

}  // namespace ridgeline
