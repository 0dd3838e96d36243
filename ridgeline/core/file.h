// ridgeline/core/file.h
//
// Files: reading whole, and writing so that a crash or a full disk leaves the old file untouched.
// Every failure is an Error that names the path and the system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

// The content of a regular file; folders, FIFOs, devices and what is larger than memory are Errors.
std::string read_file(const std::string& path);
// `content` becomes the file's bytes and keeps its capacity, for readers of many files.
void read_file_into(const std::string& path, std::string& content);

// Writes to a temporary name in the same directory, syncs, renames over `path`, syncs the directory (atomic_file.h:
// also what it does with links, devices and pipes). On any failure the temporary file is removed and an existing `path`
// keeps its old content.
void write_file_atomically(const std::string& path, std::string_view content);
// The same in pieces: `write` gets a sink that it may call any number of times.
using Sink = std::function<void(const void* data, std::size_t size)>;
void write_file_atomically(const std::string& path, const std::function<void(const Sink&)>& write);

// False also where the system gives no information about the path.
bool is_regular_file(const std::string& path);

// Makes the directory and its parents where they are missing; of a link, its target. Does nothing for "".
void make_directories(const std::string& path);

// The regular files that match a shell pattern (`*`, `?`, `[...]`), sorted by name.
std::vector<std::string> glob_files(const std::string& pattern);
// The pattern that only this path matches: for folders whose names have such characters.
std::string glob_escape(std::string_view path);

}  // namespace ridgeline
