#include "ridgeline/core/printable.h"

#include "ridgeline/core/utf8.h"

namespace ridgeline {
namespace {

void append_escaped(std::string& out, unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  switch (byte) {
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  out += "\\x";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

// For one well-formed character.
bool changes_the_line(std::string_view character) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return at(0) < 0x20 || at(0) == 0x7f;
  if (character.size() == 2) return at(0) == 0xc2 && at(1) < 0xa0;  // U+0080 to U+009F: control characters, too
  if (character.size() != 3 || at(0) != 0xe2) return false;
  // U+2028 and U+2029 end a line, U+202A to U+202E and U+2066 to U+2069 turn the direction of what follows.
  return (at(1) == 0x80 && at(2) >= 0xa8 && at(2) <= 0xae) || (at(1) == 0x81 && at(2) >= 0xa6 && at(2) <= 0xa9);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || changes_the_line(character)) {
      for (const char byte : character) append_escaped(out, static_cast<unsigned char>(byte));
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
  return out;
}

}  // namespace ridgeline
