// ridgeline/core/unicode_forms.h
//
// One name, two spellings in bytes: Unicode writes an accented letter as one character (form NFC, of most systems) or
// as a letter and a mark (form NFD, of archives made on a Mac).
#pragma once

#include <string>
#include <string_view>

namespace ridgeline {

// `text` with every composed letter of Latin, Greek, Cyrillic, kana, Hangul and the like taken apart, so that two
// texts that differ by their form alone become equal. Bytes that are no UTF-8 stay.
std::string decomposed(std::string_view text);

}  // namespace ridgeline
