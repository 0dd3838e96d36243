// ridgeline/graph/ir/text.h
//
// The text form of graphs. It parses back to the identical graph:
//
//   graph @sum_of_products(%x: f32[1024], %y: f32[1024], %w: param f32[1024]) {
//     %0 = mul(%y, %w) : f32[1024]
//     %1 = add(%x, %0) : f32[1024] name "total/add" loc("demo.cpp":14 "main")
//     update %w = %1
//     return %0 "result"
//   }
//
// Attributes equal to their defaults, names equal to the default (op, op_1, ...) and the kinds `input` and `activation`
// are left out. Functions come before their graph as `func @name(...) {...}`. `#` starts a comment.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

struct TextOptions {
  bool locations = true;
};

std::string to_text(const Graph& graph, TextOptions options = {});
// An Error names the line and what was expected there.
Graph parse_graph(std::string_view text, std::string_view file = "text");
// Without locations.
std::ostream& operator<<(std::ostream& out, const Graph& graph);
// Equal up to the numbering of values: same text.
bool operator==(const Graph& a, const Graph& b);

}  // namespace ridgeline
