// ridgeline/data/source/read_into.h
//
// Whole files into memory that is used again: a record a file would otherwise be an allocation a record.
#pragma once

#include <string>

namespace ridgeline::data {

// `content` becomes the file's bytes; its capacity is kept. Errors "cannot read PATH: reason".
void read_file_into(const std::string& path, std::string& content);

}  // namespace ridgeline::data
