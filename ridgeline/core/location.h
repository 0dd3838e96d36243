// ridgeline/core/location.h
//
// Where in the user's program something was built. One per graph op, a stack of frames innermost first.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace ridgeline {

struct Location {
  std::string file;  // as the compiler or the parser names it
  std::uint32_t line = 0;
  std::string function;

  static Location of(const std::source_location& at) { return {at.file_name(), at.line(), at.function_name()}; }
  bool known() const { return line != 0; }
  // "models/alexnet.cpp:57"
  std::string to_string() const { return file + ":" + std::to_string(line); }
  friend bool operator==(const Location&, const Location&) = default;
};

using LocationStack = std::vector<Location>;

}  // namespace ridgeline
