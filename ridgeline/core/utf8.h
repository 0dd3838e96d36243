// ridgeline/core/utf8.h
//
// What is well-formed UTF-8 (Unicode, table 3-7): no overlong forms, no surrogates, nothing beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace ridgeline {

// Bytes of the character that `text` begins with; 0 if it begins with none.
std::size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace ridgeline
