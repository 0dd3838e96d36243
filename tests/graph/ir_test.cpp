// The step graph: building, text format in both directions, verification, traced functions, passes.
#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/trace.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/op/evaluate.h"
#include "ridgeline/graph/pass/inline.h"
#include "ridgeline/graph/pass/schedule.h"
#include "ridgeline/graph/pass/simplify.h"

namespace ridgeline {
namespace {

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

Graph traced_example() {
  const auto half_ratio = [](Value x, Value y) { return x / y; };
  return trace("test_f", {f32({2, 3}), f32({2, 3})}, [&](Value x, Value y) {
    Value a = x - 1;
    Value b = a + y;
    return b * call("func", half_ratio, a, b);
  });
}

TEST(GraphText, ATracedFunctionPrintsItsCalleeAndParsesBackToTheSameGraph) {
  const Graph graph = traced_example();
  const std::string text = to_text(graph);
  EXPECT_NE(text.find("func @func"), std::string::npos);
  EXPECT_NE(text.find("ir_test.cpp"), std::string::npos);
  const Graph parsed = parse_graph(text);
  EXPECT_EQ(to_text(parsed), text);
  EXPECT_TRUE(parsed == graph);
  verify(parsed);
}

TEST(GraphText, KeepsNamesKindsUpdatesAttributesAndLocations) {
  const std::string text =
      "graph @step(%x: f32[2,3], %w: param f32[4,3], %count: state i64[]) {\n"
      "  %0 = dense(%x, %w) : f32[2,4] name \"layer/dense\" loc(\"demo.cpp\":14 \"main\")\n"
      "  %1 = relu(%0) : grad f32[2,4]\n"
      "  %2 = constant() {value=1.0, dtype=i64} : i64[]\n"
      "  %3 = add(%count, %2) : i64[]\n"
      "  %4 = reduce_sum(%1) {axes=[0,1]} : f32[]\n"
      "  update %count = %3\n"
      "  return %4 \"sum\"\n"
      "}\n";
  const Graph graph = parse_graph(text);
  EXPECT_EQ(to_text(graph), text);
  EXPECT_EQ(graph.nodes[0].name, "layer/dense");
  EXPECT_EQ(graph.value(graph.nodes[1].outputs[0]).kind, ValueKind::grad);
  verify(graph);
}

TEST(GraphText, SaysOnWhichLineWhatIsMissing) {
  EXPECT_NE(error_of([] {
              parse_graph("graph @g(%x: f32[2]) {\n  %0 = relu(%y) : f32[2]\n}\n", "g.rdg");
            }).find("g.rdg line 2"),
            std::string::npos);
  EXPECT_NE(error_of([] { parse_graph("graph @g(%x: f33[2]) {}"); }).find("f33"), std::string::npos);
  EXPECT_NE(
      error_of([] { parse_graph("graph @g(%x: f32[2]) {\n %0 = rellu(%x) : f32[2]\n}"); }).find("did you mean 'relu'"),
      std::string::npos);
}

TEST(GraphText, EveryMistakeInATextNamesFileAndLine) {
  const auto refusal = [](const std::string& body, const std::string& head = "graph @g(%x: f32[2]) {\n") {
    return error_of([&] { parse_graph(head + body, "g.rdg"); });
  };
  for (const char* body : {"  %0 = rellu(%x) : f32[2]\n", "  %0 = scale(%x) {factr=2.0} : f32[2]\n",
                           "  %0 = relu(%x) : f32[-2]\n", "  %0 = relu(%x) : f32[9223372036854775807,2]\n",
                           "  %0 = call(%x) {function=\"f\"} : f32[2]\n", "  %0 = relu(%x) : f32[2] name 3\n"}) {
    EXPECT_NE(refusal(body).find("g.rdg line 2: "), std::string::npos) << refusal(body);
  }
  const std::string huge = refusal("}", "graph @g(%x: f32[9223372036854775807,9223372036854775807]) {\n");
  EXPECT_NE(huge.find("g.rdg line 1: "), std::string::npos) << huge;
}

TEST(GraphText, LinesOfTheTextAreLocationsWhereThereAreNoOthers) {
  const std::string text =
      "graph @g(%x: f32[2]) {\n  %0 = relu(%x) : f32[2]\n  %1 = relu(%0) : f32[2] loc(\"a.cpp\":7 \"f\")\n"
      "  %2 = add(%1, %1)\n    : f32[3]\n  return %2\n}\n";
  const Graph graph = parse_graph(text, "g.rdg", {.lines = true});
  EXPECT_EQ(graph.nodes[0].where, (LocationStack{{"g.rdg", 2, "g"}}));
  EXPECT_EQ(graph.nodes[1].where, (LocationStack{{"a.cpp", 7, "f"}}));
  const std::string error = error_of([&] { verify(graph); });
  EXPECT_NE(error.find("node \"add\" (add) at g.rdg:4: "), std::string::npos) << error;
  EXPECT_TRUE(parse_graph(text).nodes[0].where.empty());
}

TEST(GraphText, ResultsGetNumbersThatAreNoArgumentsName) {
  const Graph graph = parse_graph(
      "graph @g(%0: f32[2], %2: f32[2]) {\n  %a = add(%0, %2) : f32[2]\n"
      "  %b = relu(%a) : f32[2]\n  return %b\n}\n");
  const std::string text = to_text(graph);
  EXPECT_NE(text.find("%1 = add(%0, %2)"), std::string::npos) << text;
  EXPECT_NE(text.find("%3 = relu(%1)"), std::string::npos) << text;
  EXPECT_EQ(to_text(parse_graph(text)), text);
}

TEST(Builder, NamesTheUsersLineInAShapeError) {
  const std::string message = error_of([] {
    GraphBuilder b("g");
    const Value x = b.input("x", f32({2, 3}));
    const Value w = b.input("w", f32({4, 5}));
    b.apply("dense", {x, w});
  });
  EXPECT_NE(message.find("[dense]"), std::string::npos);
  EXPECT_NE(message.find("ir_test.cpp:"), std::string::npos);
}

TEST(Builder, GivesEveryOpAUniqueStableName) {
  GraphBuilder b("g");
  const Value x = b.input("x", f32({2}));
  b.apply("relu", {x});
  GraphBuilder::Scope scope(b, "block");
  b.apply("relu", {x});
  b.apply("relu", {x});
  const Graph graph = b.finish();
  EXPECT_EQ(graph.nodes[0].name, "relu");
  EXPECT_EQ(graph.nodes[1].name, "block/relu");
  EXPECT_EQ(graph.nodes[2].name, "block/relu_1");
}

TEST(Builder, RefusesAnotherBodyUnderTheNameOfAFunction) {
  const auto twice = [](Value x) { return x * 2; };
  const auto thrice = [](Value x) { return x * 3; };
  const auto both = [&](const auto& second) {
    return trace("g", {f32({2})}, [&](Value x) { return call("f", twice, x) + call("f", second, x); });
  };
  EXPECT_EQ(both(twice).functions.size(), 1u);
  EXPECT_NE(error_of([&] { both(thrice); }).find("[call] graph g has another function named f"), std::string::npos);
}

TEST(Builder, ANameIsForTheNextOpAloneAlsoWhereThatIsRefused) {
  GraphBuilder b("g");
  const Value x = b.input("x", f32({2})), y = b.input("y", f32({3}));
  b.name_next("sum");
  EXPECT_NE(error_of([&] { b.apply("add", {x, y}); }), "");
  b.apply("exp", {x});
  EXPECT_EQ(b.graph().nodes.back().name, "exp");
}

TEST(Verifier, RejectsAReadOfAParameterAfterItsUpdate) {
  const Graph graph = parse_graph(
      "graph @g(%w: param f32[2], %g: f32[2], %lr: f32[]) {\n"
      "  %0 = sgd(%w, %g, %lr) : f32[2]\n"
      "  %1 = relu(%w) : f32[2]\n"
      "  update %w = %0\n"
      "  return %1 \"r\"\n"
      "}\n");
  EXPECT_NE(error_of([&] { verify(graph); }).find("after \"sgd\" has updated it"), std::string::npos);
  verify(schedule(graph));
}

TEST(Verifier, RejectsTypesThatInferenceDoesNotGive) {
  const Graph graph = parse_graph("graph @g(%x: f32[2]) {\n  %0 = relu(%x) : f32[3]\n  return %0\n}\n");
  EXPECT_NE(error_of([&] { verify(graph); }).find("f32[3] instead of f32[2]"), std::string::npos);
}

// What a malicious text may contain.
TEST(Verifier, RejectsCallsAndFunctionsThatDoNotFit) {
  const std::string f = "func @f(%a: f32[2], %b: f32[2]) {\n  %0 = add(%a, %b) : f32[2]\n  return %0\n}\n";
  const auto refusal = [](const std::string& text) {
    return error_of([&] { verify(parse_graph(text, "g.rdg", {.lines = true})); });
  };
  const auto call = [](const std::string& operands, const std::string& type) {
    return "graph @g(%x: f32[2], %y: f32[3]) {\n  %0 = call(" + operands + ") {function=\"f\"} : " + type +
           "\n  return %0\n}\n";
  };
  EXPECT_EQ(refusal(f + call("%x, %x", "f32[2]")), "");
  EXPECT_NE(refusal(f + call("%x", "f32[2]")).find("at g.rdg:6: calls function @f of 2 arguments with 1"),
            std::string::npos);
  EXPECT_NE(refusal(f + call("%x, %y", "f32[2]")).find("gives f32[3] as argument b of function @f, which is f32[2]"),
            std::string::npos);
  EXPECT_NE(refusal(f + call("%x, %x", "f32[3]")).find("result 0 is f32[3] instead of f32[2]"), std::string::npos);
  const std::string stored = "func @f(%a: param f32[2], %b: f32[2]) {\n  return %b\n}\n";
  EXPECT_NE(refusal(stored + call("%x, %x", "f32[2]")).find("its argument a is no param"), std::string::npos);
  EXPECT_NE(refusal("graph @g(%x: grad f32[2]) {\n  return %x\n}\n").find("neither input, param nor state"),
            std::string::npos);
}

TEST(Verifier, RejectsResultsAndUpdatesThatAreNone) {
  EXPECT_NE(error_of([] {
              verify(parse_graph("graph @g(%x: f32[2]) {\n  %0 = relu(%x) : param f32[2]\n  return %0\n}\n"));
            }).find("has a result of kind param, which only arguments are"),
            std::string::npos);
  Graph graph = parse_graph("graph @g(%w: param f32[2]) {\n  %0 = relu(%w) : f32[2]\n  update %w = %0\n}\n");
  verify(graph);
  for (const ValueId wrong : {kNoValue, ValueId{7}}) {
    Graph current = graph, next = graph;
    current.updates[0].current = wrong;
    next.updates[0].next = wrong;
    EXPECT_NE(error_of([&] { verify(current); }).find("updates no parameter or state"), std::string::npos);
    EXPECT_NE(error_of([&] { verify(next); }).find("updates w by an undefined value"), std::string::npos);
  }
}

TEST(GraphText, ByteOrderMarksAreSkippedAndBytesThatAreNoTextAreShownAsSuch) {
  const std::string text = "graph @g(%x: f32[2]) {\n  %0 = relu(%x) : f32[2]\n  return %0\n}\n";
  EXPECT_EQ(parse_graph("\xef\xbb\xbf" + text).nodes.size(), 1u);
  const std::string cut = text.substr(0, 11) + std::string(1, '\0') + text.substr(11);
  EXPECT_NE(error_of([&] { parse_graph(cut); }).find("before '\\x00: f32[2]) {'"), std::string::npos)
      << error_of([&] { parse_graph(cut); });
}

// Functions that call the two before them, or one twice: a few lines that expand to more ops than memory can hold.
TEST(Inline, RefusesShortTextsOfTooManyOps) {
  const auto text = [](int functions, bool two) {
    std::string all = "func @f0(%x: f32[2]) {\n  %0 = relu(%x) : f32[2]\n  return %0\n}\n";
    const auto call = [](int f) { return "(%x) {function=\"f" + std::to_string(std::max(0, f)) + "\"} : f32[2]\n"; };
    for (int f = 1; f < functions; ++f) {
      all += "func @f" + std::to_string(f) + "(%x: f32[2]) {\n  %0 = call" + call(f - 1) + "  %1 = call" +
             call(two ? f - 2 : f - 1) + "  return %1\n}\n";
    }
    return all + "graph @g(%x: f32[2]) {\n  %0 = call" + call(functions - 1) + "  return %0\n}\n";
  };
  EXPECT_EQ(inline_calls(parse_graph(text(8, false))).nodes.size(), 128u);
  EXPECT_EQ(inline_calls(parse_graph(text(8, true))).nodes.size(), 34u);
  EXPECT_NE(error_of([&] { parse_graph(text(80, true)); }).find("functions that call each other come to more than"),
            std::string::npos);
  const Graph deep = parse_graph(text(60, false));
  verify(deep);
  EXPECT_NE(error_of([&] { inline_calls(deep); }).find("graph @g has more than 1048576 ops"), std::string::npos);
}

TEST(Inline, KeepsTheValueAndTheCallersLine) {
  const Graph graph = traced_example();
  const Graph flat = inline_calls(graph);
  EXPECT_TRUE(flat.functions.empty());
  const std::vector<float> x{2, 3, 4, 5, 6, 7};
  const std::vector<float> y{1, 1, 2, 2, 3, 3};
  const Arguments arguments{{"x0", Tensor::of(x, {2, 3})}, {"x1", Tensor::of(y, {2, 3})}};
  const Tensor result = evaluate_returns(flat, arguments).front();
  for (std::int64_t i = 0; i < 6; ++i) {
    const float a = x[static_cast<std::size_t>(i)] - 1;
    const float b = a + y[static_cast<std::size_t>(i)];
    EXPECT_EQ(result.at(i), b * (a / b));
  }
  bool two_frames = false;
  for (const Node& node : flat.nodes) two_frames = two_frames || (node.op == "div" && node.where.size() == 2);
  EXPECT_TRUE(two_frames);
}

TEST(Simplify, FoldsConstantsMergesEqualOpsAndDropsDeadOnes) {
  const Graph graph = parse_graph(
      "graph @g(%x: f32[4]) {\n"
      "  %0 = constant() {value=2.0, dtype=f32} : f32[]\n"
      "  %1 = constant() {value=3.0, dtype=f32} : f32[]\n"
      "  %2 = mul(%0, %1) : f32[]\n"
      "  %3 = mul(%x, %2) : f32[4]\n"
      "  %4 = mul(%x, %2) : f32[4]\n"
      "  %5 = add(%3, %4) : f32[4]\n"
      "  %6 = exp(%x) : f32[4]\n"
      "  %7 = scale(%5) {factor=1.0} : f32[4]\n"
      "  return %7 \"y\"\n"
      "}\n");
  const Graph simple = simplify(graph);
  verify(simple);
  EXPECT_EQ(simple.nodes.size(), 3u) << to_text(simple);  // constant 6, one mul, one add
  const Arguments arguments{{"x", Tensor::of<float>({1, 2, 3, 4}, {4})}};
  const Tensor y = evaluate_returns(simple, arguments).front();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(y.at(i), 12.0 * (i + 1));
}

TEST(Schedule, UpdatesAParameterAsSoonAsItsGradientIsThere) {
  const Graph graph = parse_graph(
      "graph @g(%a: param f32[2], %b: param f32[2], %x: f32[2], %lr: f32[]) {\n"
      "  %0 = mul(%x, %x) : f32[2] name \"ga\"\n"
      "  %1 = mul(%x, %b) : f32[2] name \"gb\"\n"
      "  %2 = sgd(%a, %0, %lr) : f32[2]\n"
      "  %3 = sgd(%b, %1, %lr) : f32[2]\n"
      "  update %a = %2\n"
      "  update %b = %3\n"
      "}\n");
  const Graph ordered = schedule(graph);
  EXPECT_EQ(ordered.nodes[0].name, "ga");
  EXPECT_EQ(ordered.nodes[1].op, "sgd");
  verify(ordered);
}

}  // namespace
}  // namespace ridgeline
