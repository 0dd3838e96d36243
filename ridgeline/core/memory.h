// ridgeline/core/memory.h
//
// How much memory there is to use.
#pragma once

#include <cstdint>
#include <string>

namespace ridgeline {

// Bytes of memory that this process may use: the machine's, or less where a control group or the process's own limit
// (`ulimit -v`) says so. At least 1.
std::int64_t available_memory();

// The smallest limit of the process's control groups (version 1 or 2) and of the groups around them; the largest number
// if there is none. Files are looked for below `root`, which tests put in place of "".
std::int64_t control_group_memory(const std::string& root);

// "640 bytes", "1.5 MB", "17.2 GB".
std::string byte_text(std::int64_t bytes);

}  // namespace ridgeline
