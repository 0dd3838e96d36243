// ridgeline/core/printable.h
//
// Names for people. A name of a file, folder or class is bytes: it may hold a newline, an escape sequence that changes
// the terminal, or no UTF-8 at all. Wherever one goes to a terminal, a log or a list of lines, it goes through here.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline {

// `text` on one line of well-formed UTF-8 without control characters: those are written as \n, \r, \t or \x1b, bytes
// that are no UTF-8 as \xe9, and characters that break lines or turn the direction of the text by the bytes they are
// made of. Everything else stays, also a backslash: a printable text does not change.
std::string printable(std::string_view text);

}  // namespace ridgeline
