#include "ridgeline/train/recipe/duration.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline::train {
namespace {

struct Unit {
  char letter;
  double seconds;
};
// In the order in which they are written.
constexpr std::array<Unit, 4> kUnits{{{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}}};

// A number at the beginning of `text`, which loses it. Digits, and a point where `fractions` may be.
std::optional<double> take_number(std::string_view& text, bool fractions) {
  const std::size_t size = std::min(text.find_first_not_of(fractions ? "0123456789." : "0123456789"), text.size());
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + size, value);
  if (size == 0 || error != std::errc() || rest != text.data() + size) return std::nullopt;
  text.remove_prefix(size);
  return value;
}

std::optional<double> with_units(std::string_view text) {
  double seconds = 0;
  for (const Unit& unit : kUnits) {
    std::string_view rest = text;
    const std::optional<double> number = take_number(rest, true);
    if (!number) return std::nullopt;
    if (rest.empty() || rest.front() != unit.letter) continue;
    seconds += *number * unit.seconds;
    text = rest.substr(1);
    if (text.empty()) return seconds;
  }
  return std::nullopt;
}

std::optional<double> with_colons(std::string_view text) {
  std::vector<double> parts;
  for (;;) {
    const std::size_t before = text.size();
    const std::optional<double> part = take_number(text, false);
    if (!part || (!parts.empty() && (before - text.size() != 2 || *part >= 60))) return std::nullopt;
    parts.push_back(*part);
    if (text.empty()) break;
    if (text.front() != ':') return std::nullopt;
    text.remove_prefix(1);
  }
  if (parts.size() != 3) return std::nullopt;  // of two nobody knows which they are
  return 3600 * parts[0] + 60 * parts[1] + parts[2];
}

}  // namespace

double parse_duration(const std::string& flag, const std::string& text) {
  std::string_view plain = text;
  std::optional<double> seconds = take_number(plain, true);
  if (!plain.empty()) seconds = text.find(':') == std::string::npos ? with_units(text) : with_colons(text);
  if (!seconds || !(*seconds > 0) || *seconds > 1e9)
    throw Error(fmt::format("{}={} is no length of time (allowed: {})", flag, text, kDurationForms), ErrorKind::usage);
  return *seconds;
}

}  // namespace ridgeline::train
