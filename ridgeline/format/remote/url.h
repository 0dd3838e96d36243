// ridgeline/format/remote/url.h
//
// Names of files at URLs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

// Begins with http:// or https://, in upper or lower case.
bool is_url(std::string_view name);

// As messages may show it: without user, password and what follows '?', which may hold keys.
std::string shown_url(std::string_view url);

// WebDataset's way to write many shards: "http://host/train-{000..146}.tar" are 147 URLs, with as many digits as the
// first number has. Several ranges give all combinations, the last one fastest. URLs contain no braces, so braces that
// hold no range of numbers, low to high, are an Error; so are more than 1,000,000 URLs.
std::vector<std::string> expand_url(const std::string& url);

}  // namespace ridgeline
