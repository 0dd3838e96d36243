#include "ridgeline/format/text/json_tree.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

// The most brackets that are open at once; for text that is not JSON, some number.
int levels_of(std::string_view text) {
  int open = 0, most = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if (c == '[' || c == '{') most = std::max(most, ++open);
    if (c == ']' || c == '}') --open;
  }
  return most;
}

}  // namespace

nlohmann::json parse_json_tree(std::string_view text, std::string_view where) {
  if (levels_of(text) > kMostJsonLevels)
    throw Error(std::string(where) + " nests deeper than " + std::to_string(kMostJsonLevels) + " levels");
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string(where) + " " + e.what());
  }
}

}  // namespace ridgeline
