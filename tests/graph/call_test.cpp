// Functions in traced graphs: one for each combination of argument types, and one name for each body.
#include <gtest/gtest.h>

#include <functional>
#include <list>

#include "ridgeline/graph/ir/forms.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/trace.h"
#include "ridgeline/graph/ir/traced_function.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/inline.h"
#include "tests/support/error_of.h"

namespace ridgeline {
namespace {

Value doubled(Value x) { return x * 2; }
Value doubled_twice(Value x) { return call("doubled", doubled, call("doubled", doubled, x)); }

std::vector<std::string> names_of_functions(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& [name, function] : graph.functions) names.push_back(name);
  return names;
}

// Its text is parsed to the same graph.
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

// Counts calls of the function in addition to computing it.
struct Counted {
  int& times;
  Value operator()(Value x, Value y) const {
    ++times;
    return x * y + x;
  }
};

TEST(Call, ATracedFunctionIsRecordedOnceForEachSetOfShapesAndTypesInWhicheverGraphs) {
  int times = 0;
  TracedFunction scaled("scaled", Counted{times});
  const auto build = [&](const char* name) {
    return trace(name, {f32({2}), f32({3}), {DType::f64, {2}}}, [&](Value x, Value y, Value z) {
      const Value first = scaled(scaled(x, x), x), other = scaled(y, y);
      scaled(z, z);
      return first.builder().apply("concat", {first, other}, {{"axis", std::int64_t{0}}});
    });
  };
  const Graph graph = build("g"), again = build("h");
  EXPECT_EQ(times, 3);
  EXPECT_EQ(scaled.specialisations(), 3u);
  EXPECT_EQ(names_of_functions(graph), (std::vector<std::string>{"scaled", "scaled_1", "scaled_2"}));
  expect_text_is_whole(graph);
  expect_text_is_whole(again);
  // The graph made by call(), which records it each time.
  const Graph by_call = trace("g", {f32({2})}, [&](Value x) { return call("scaled", Counted{times}, x, x); });
  EXPECT_EQ(to_text(by_call.functions.at("scaled")), to_text(scaled.graph({f32({2}), f32({2})})));
  EXPECT_EQ(times, 4);
  scaled.forget();
  EXPECT_EQ(scaled.graph({f32({2}), f32({2})}).arguments.size(), 2u);
  EXPECT_EQ(times, 5);
}

TEST(Call, TracedFunctionsThatCallEachOtherTwiceAreRecordedOnceEach) {
  int times = 0;
  TracedFunction next("level0", [&](Value x) { return ++times, x + x; });
  using Level = TracedFunction<std::function<Value(Value)>>;
  std::list<Level> levels;
  for (int i = 1; i <= 12; ++i) {  // 4,096 calls of the first one, if all were recorded
    levels.emplace_back("level" + std::to_string(i), [&, below = levels.empty() ? nullptr : &levels.back()](Value x) {
      ++times;
      return below == nullptr ? next(next(x)) : (*below)((*below)(x));
    });
  }
  const Graph& top = levels.back().graph({f32({4})});
  EXPECT_EQ(times, 13);
  EXPECT_EQ(top.functions.size(), 1u);
  verify(top);
}

TEST(Call, ATracedFunctionMayCallItselfWithOtherTypesAndNotWithTheSame) {
  struct Halves {
    TracedFunction<Halves>*& self;
    Value operator()(Value x) const {
      const std::int64_t rows = x.shape()[0];
      if (rows == 1) return x * 2;
      if (rows == 7) return (*self)(x);
      const std::vector<std::int64_t> sizes{rows / 2, rows - rows / 2};
      return (*self)(x.builder().apply("split", {x}, {{"axis", std::int64_t{0}}, {"sizes", sizes}}));
    }
  };
  TracedFunction<Halves>* self = nullptr;
  TracedFunction halves("halves", Halves{self});
  self = &halves;
  verify(halves.graph({f32({8})}));
  EXPECT_EQ(halves.specialisations(), 4u);
  const std::string error = error_of([&] { halves.graph({f32({14})}); });
  EXPECT_TRUE(error.starts_with("[halves] calls itself with arguments of the same types: a graph without an end ("))
      << error;
  EXPECT_NE(error.find("call_test.cpp:"), std::string::npos) << error;
  EXPECT_EQ(halves.specialisations(), 4u) << "nothing of it is left";
  verify(halves.graph({f32({2})}));
}

}  // namespace
}  // namespace ridgeline
