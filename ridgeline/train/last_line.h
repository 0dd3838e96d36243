// ridgeline/train/last_line.h
//
// The last output of a process, for the process that started it.
#pragma once

#include <cstdint>
#include <string>

namespace ridgeline::train {

// The last non-empty line of a text file behind its first `begin` bytes, printable; empty if there is none or no such
// file.
std::string last_line(const std::string& path, std::int64_t begin = 0);

}  // namespace ridgeline::train
