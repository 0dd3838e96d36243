#include "ridgeline/core/unicode_forms.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "ridgeline/core/unicode_pairs.h"
#include "ridgeline/core/utf8.h"

namespace ridgeline {
namespace {

// Syllables of Hangul are numbered by their two or three letters (Unicode, section 3.12).
constexpr std::uint32_t kSyllables = 0xAC00, kSyllablesEnd = 0xD7A4;
constexpr std::uint32_t kLead = 0x1100, kVowel = 0x1161, kTrail = 0x11A7, kVowels = 21, kTrails = 28;

std::uint32_t code_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i])); };
  switch (character.size()) {
    case 1: return byte(0);
    case 2: return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3: return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    default: return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  }
}

// For characters of the table's plane: at most three bytes.
void append(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

void append_decomposed(std::string& out, std::uint32_t code) {
  if (code >= kSyllables && code < kSyllablesEnd) {
    const std::uint32_t index = code - kSyllables;
    append(out, kLead + index / (kVowels * kTrails));
    append(out, kVowel + index / kTrails % kVowels);
    if (index % kTrails != 0) append(out, kTrail + index % kTrails);
    return;
  }
  const auto* pair =
      std::lower_bound(std::begin(kUnicodePairs), std::end(kUnicodePairs), code,
                       [](const UnicodePair& row, std::uint32_t wanted) { return row.composed < wanted; });
  if (pair == std::end(kUnicodePairs) || pair->composed != code) return append(out, code);
  append_decomposed(out, pair->letter);  // which may be composed itself
  append(out, pair->mark);
}

}  // namespace

std::string decomposed(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length >= 2 && length <= 3) {
      append_decomposed(out, code_of(text.substr(0, length)));
    } else {
      out += text.substr(0, std::max<std::size_t>(length, 1));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace ridgeline
