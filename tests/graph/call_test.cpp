// Functions of traced graphs: one for each set of types that they are called with, and one name for each body.
#include <gtest/gtest.h>

#include "ridgeline/graph/ir/forms.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/trace.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/inline.h"

namespace ridgeline {
namespace {

Value doubled(Value x) { return x * 2; }
Value doubled_twice(Value x) { return call("doubled", doubled, call("doubled", doubled, x)); }

std::vector<std::string> names_of_functions(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& [name, function] : graph.functions) names.push_back(name);
  return names;
}

// What its text says is what it is.
void expect_text_is_whole(const Graph& graph) {
  verify(graph);
  const Graph again = parse_graph(to_text(graph));
  verify(again);
  EXPECT_EQ(to_text(inline_calls(again)), to_text(inline_calls(graph)));
}

TEST(Call, AFunctionIsAnotherOneForArgumentsOfOtherTypes) {
  const Graph graph = trace("g", {f32({2}), f32({3}), f32({2})}, [](Value x, Value y, Value z) {
    const Value first = call("doubled", doubled, x) + call("doubled", doubled, z);
    return first.builder().apply("concat", {first, call("doubled", doubled, y)}, {{"axis", std::int64_t{0}}});
  });
  EXPECT_EQ(names_of_functions(graph), (std::vector<std::string>{"doubled", "doubled_1"}));
  EXPECT_EQ(graph.functions.at("doubled_1").value(graph.functions.at("doubled_1").arguments[0]).type, f32({3}));
  expect_text_is_whole(graph);
}

TEST(Call, AFunctionInsideOfAnotherHasANameOfItsOwn) {
  for (const bool inside_first : {true, false}) {
    const Graph graph = trace("g", {f32({2}), f32({3})}, [&](Value x, Value y) {
      const Value before = inside_first ? call("outer", doubled_twice, x) : Value();
      const Value other = call("doubled", doubled, y);
      const Value inner = inside_first ? before : call("outer", doubled_twice, x);
      return inner.builder().apply("concat", {inner, other}, {{"axis", std::int64_t{0}}});
    });
    EXPECT_EQ(graph.functions.size(), 2u);
    EXPECT_EQ(graph.functions.at("outer").functions.size(), 1u);
    EXPECT_FALSE(graph.functions.contains(graph.functions.at("outer").functions.begin()->first));
    expect_text_is_whole(graph);
    const std::string entry = to_entry_text(graph);
    EXPECT_NE(entry.find("#Total subgraph : 4"), std::string::npos) << entry;
    EXPECT_NE(entry.find("subgraph @doubled_1."), std::string::npos) << entry;
    EXPECT_NE(entry.find("subgraph @doubled."), std::string::npos) << entry;
  }
}

}  // namespace
}  // namespace ridgeline
