// ridgeline/graph/ir/text.h
//
// The text format of graphs. It parses back to the identical graph:
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
#include <map>
#include <string>
#include <string_view>

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/ir/node_error.h"

namespace ridgeline {

struct TextOptions {
  bool locations = true;
  // The op of this error gets a comment line in front, which says what is wrong with it.
  const NodeError* mark = nullptr;
};

struct ParseOptions {
  // Ops without a `loc` get their line in the text as location, for errors that name it.
  bool lines = false;
};

std::string to_text(const Graph& graph, TextOptions options = {});
// An Error names the line and what was expected there.
Graph parse_graph(std::string_view text, std::string_view file = "text", ParseOptions options = {});
// Without locations.
std::ostream& operator<<(std::ostream& out, const Graph& graph);
// Equal up to the numbering of values: same text.
bool operator==(const Graph& a, const Graph& b);

// What the text calls each value, without the %: arguments by their names, results of ops by numbers that are no
// argument's name.
std::map<ValueId, std::string> value_names(const Graph& graph);
// What "{...}" holds: the attributes that differ from their defaults; empty where none does.
std::string attribute_text(const Node& node);

}  // namespace ridgeline
