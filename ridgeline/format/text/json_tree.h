// ridgeline/format/text/json_tree.h
//
// A JSON text as a value of the JSON library, for those who also write with it. The library copies and prints by
// recursion and reads any depth of nesting; here the depth is limited, so that no text can exhaust the stack.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace ridgeline {

// Enough for MindData's trees, which have two levels a node and at most 500 nodes on a path.
inline constexpr int kMostJsonLevels = 1200;

// Errors: "`where` nests deeper than 1200 levels", and the library's message after `where`.
nlohmann::json parse_json_tree(std::string_view text, std::string_view where);

}  // namespace ridgeline
