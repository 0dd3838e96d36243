// ridgeline/core/ascii.h
//
// Case of ASCII letters; every other byte stays, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline {

inline std::string lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace ridgeline
