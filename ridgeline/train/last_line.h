// ridgeline/train/last_line.h
//
// What a process said last, for who started it.
#pragma once

#include <string>

namespace ridgeline::train {

// The last line of a text file that is not empty, printable; empty where there is none or no such file.
std::string last_line(const std::string& path);

}  // namespace ridgeline::train
