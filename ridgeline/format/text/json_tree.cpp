#include "ridgeline/format/text/json_tree.h"

#include <nlohmann/json.hpp>
#include <string>

#include "ridgeline/core/error.h"

namespace ridgeline {

nlohmann::json parse_json_tree(std::string_view text, std::string_view where) {
  using Event = nlohmann::json::parse_event_t;
  const auto limit = [&](int depth, Event event, const nlohmann::json&) {
    if (depth >= kMostJsonLevels && (event == Event::array_start || event == Event::object_start))
      throw Error(std::string(where) + " nests deeper than " + std::to_string(kMostJsonLevels) + " levels");
    return true;
  };
  try {
    return nlohmann::json::parse(text, limit);
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string(where) + " " + e.what());
  }
}

}  // namespace ridgeline
