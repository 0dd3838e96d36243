// ridgeline/core/unicode_forms.h
//
// Unicode writes an accented letter either as one character (form NFC, of most systems) or as a letter and a mark (form
// NFD, of archives made on a Mac), so one name has two spellings in bytes.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline {

// `text` with every composed letter of Latin, Greek, Cyrillic, kana, Hangul and the like decomposed: two texts that
// differ only in their normalization form become equal. Bytes that are not UTF-8 stay.
std::string decomposed(std::string_view text);

}  // namespace ridgeline
