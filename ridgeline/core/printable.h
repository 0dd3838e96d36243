// ridgeline/core/printable.h
//
// Names for people. A name of a file, folder or class is bytes: it may hold a newline, an escape sequence that changes
// the terminal, or no UTF-8 at all. Every name that is printed on a terminal, in a log or in a list of lines goes
// through here.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline {

// `text` as one line of well-formed UTF-8 without control characters. Control characters are written as \n, \r, \t or
// \x1b, bytes that are not UTF-8 as \xe9, and characters that break lines or change the direction of the text as their
// bytes. Everything else stays, also a backslash: a printable text does not change.
std::string printable(std::string_view text);

}  // namespace ridgeline
