// ridgeline/format/text/json_tree.h
//
// A JSON text as a value of the JSON library, for those who also write with it. The library reads any nesting, and
// copies and prints by recursion: here nesting is limited, so that no text can exhaust the stack.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace ridgeline {

// Enough for MindData's trees, which have two levels a node and at most 500 nodes on a path.
inline constexpr int kMostJsonLevels = 1200;

// Errors: "`where` nests deeper than 1200 levels", "`where` " and what the library says.
nlohmann::json parse_json_tree(std::string_view text, std::string_view where);

}  // namespace ridgeline
