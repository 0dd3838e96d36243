// ridgeline/format/text/number_text.h
//
// Numbers out of text fields, strictly: the whole field must be the number, apart from blanks around it. The result
// does not depend on the locale. Pure functions.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace ridgeline {

inline std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

template <class T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

// Decimal, with '-' but no '+'; nullopt for anything else, and for numbers out of the type's range.
inline std::optional<std::int64_t> parse_i64(std::string_view text) {
  return parse_whole<std::int64_t>(without_blanks(text));
}

// Decimal or scientific, also "nan" and "inf". Too large for a float is nullopt; too small becomes a denormal or zero.
inline std::optional<float> parse_f32(std::string_view text) {
  const std::string_view number = without_blanks(text);
  if (const auto value = parse_whole<float>(number)) return value;
  const auto wide = parse_whole<double>(number);  // from_chars also reports a number that is too small as out of range
  if (wide && std::abs(*wide) < 1) return static_cast<float>(*wide);
  return std::nullopt;
}

// As parse_f32, for doubles; too small for one is nullopt.
inline std::optional<double> parse_f64(std::string_view text) { return parse_whole<double>(without_blanks(text)); }

}  // namespace ridgeline
