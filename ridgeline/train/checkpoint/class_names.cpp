#include "ridgeline/train/checkpoint/class_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace ridgeline::train {
namespace {

std::string at(const std::vector<std::string>& names, std::size_t i) { return i < names.size() ? names[i] : ""; }

bool differ(const ClassNames& a, const ClassNames& b, std::size_t i) {
  if (at(a.names, i).empty() || at(b.names, i).empty()) return false;
  for (const std::string& one : {at(a.names, i), at(a.ids, i)}) {
    if (!one.empty() && (one == at(b.names, i) || one == at(b.ids, i))) return false;
  }
  return true;
}

}  // namespace

std::string class_difference(const ClassNames& a, std::string_view there, const ClassNames& b, std::string_view here) {
  if (a.names.empty() || b.names.empty()) return "";
  const std::size_t common = std::min(a.names.size(), b.names.size());
  std::size_t first = common, count = 0;
  for (std::size_t i = common; i-- > 0;) {
    if (!differ(a, b, i)) continue;
    first = i;
    ++count;
  }
  std::string text;
  if (a.complete && b.complete && a.names.size() != b.names.size())
    text = fmt::format("{} classes {}, {} {}", a.names.size(), there, b.names.size(), here);
  if (count > 0) {
    if (!text.empty()) text += "; ";
    text += fmt::format("class {} is '{}' {} and '{}' {}", first, a.names[first], there, b.names[first], here);
    if (count > 1) text += fmt::format(" ({} of {} differ)", count, common);
  }
  return text;
}

}  // namespace ridgeline::train
