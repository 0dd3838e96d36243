// Values that do not belong to the graph that is being built: empty ones, values of another builder, and those whose
// builder was destroyed, also if another builder is at its address. Each is an Error with the line that passed it.
#include <gtest/gtest.h>

#include <optional>

#include "ridgeline/graph/ir/trace.h"
#include "ridgeline/graph/loop/builder.h"
#include "ridgeline/nn/functional.h"
#include "tests/support/error_of.h"

namespace ridgeline {
namespace {

std::string line(int number) { return " (" + std::string(__FILE__) + ":" + std::to_string(number) + ")"; }

TEST(LostValues, AnEmptyOneNamesTheUsersLine) {
  GraphBuilder builder("step");
  const Value x = builder.input("x", f32({2, 3})), none;
  EXPECT_EQ(error_of([&] { x + none; }), "[add] operand 1 (y) is an empty Value" + line(__LINE__));
  const std::string used = "an empty Value is used: nothing was computed into it";
  EXPECT_EQ(error_of([&] { none + x; }), used + line(__LINE__));
  EXPECT_EQ(error_of([&] { none * 2.0; }), used + line(__LINE__));
  EXPECT_EQ(error_of([&] { -none; }), used + line(__LINE__));
  EXPECT_EQ(error_of([&] { none.shape(); }), used + line(__LINE__));
  EXPECT_EQ(error_of([&] { nn::relu(none); }), used + line(__LINE__));
  EXPECT_EQ(error_of([&] { nn::activate(none, nn::Activation::gelu); }), used + line(__LINE__));
  EXPECT_EQ(error_of([&] { nn::adaptive_avg_pool(none, 2); }), used + line(__LINE__));
  EXPECT_EQ(error_of([&] { nn::dense(x, none, none); }),
            "[dense] operand 1 (w) is an empty Value" + line(__LINE__ - 1));
  EXPECT_EQ(error_of([&] { nn::softmax_cross_entropy(x, none, none); }),
            "[softmax_cross_entropy] operand 1 (labels) is an empty Value" + line(__LINE__ - 1));
  EXPECT_EQ(error_of([&] { builder.returns("y", none); }),
            "what graph step returns as y is an empty Value" + line(__LINE__ - 1));
  EXPECT_EQ(error_of([&] { trace("t", {f32({2})}, [](Value) { return Value(); }); }),
            "what graph t returns as result is an empty Value" + line(__LINE__ - 1));
  EXPECT_EQ(builder.graph().nodes.size(), 0u);
  EXPECT_EQ(nn::dense(x, builder.param("w", f32({4, 3})), none).shape(), (Shape{2, 4})) << "a bias may be absent";
}

TEST(LostValues, TwoBuildersAreNamed) {
  GraphBuilder first("first"), second("second");
  const Value x = first.input("x", f32({2})), w = first.param("w", f32({2})), y = second.input("y", f32({2}));
  const std::string foreign = "a value of graph second, not of first, which is built here";
  EXPECT_EQ(error_of([&] { x + y; }), "[add] operand 1 (y) is " + foreign + line(__LINE__));
  EXPECT_EQ(error_of([&] { first.update(w, y); }), "the update of w is " + foreign + line(__LINE__));
  EXPECT_EQ(error_of([&] { first.update(y, x); }), "what is updated is " + foreign + line(__LINE__));
  EXPECT_EQ(error_of([&] { first.returns("r", y); }),
            "what graph first returns as r is " + foreign + line(__LINE__ - 1));
  EXPECT_EQ(error_of([&] { call("f", [](Value a, Value b) { return a + b; }, x, y); }),
            "[call] argument x1 of function f is " + foreign + line(__LINE__ - 1));
  // A value that a lambda captures does not belong to the function.
  EXPECT_EQ(error_of([&] { call("g", [&](Value a) { return a * x; }, x); }),
            "[mul] operand 1 (y) is a value of graph first, not of g, which is built here" + line(__LINE__ - 1));
  EXPECT_EQ(
      error_of([&] { first.update(x, x); }),
      "a value of kind input is updated; only parameters and states are kept from step to step" + line(__LINE__ - 2));
  EXPECT_EQ(error_of([&] { first.apply("call", {x}, {{"function", std::string("h")}}); }),
            "[call] graph first has no function named h" + line(__LINE__ - 1));
}

TEST(LostValues, OneWhoseBuilderIsReplacedAtTheSamePlaceIsNoticed) {
  std::optional<GraphBuilder> builder(std::in_place, "old");
  const Value lost = builder->input("x", f32({2}));
  builder.emplace("new");
  const Value x = builder->input("x", f32({2}));
  EXPECT_EQ(&x.builder(), &*builder);
  EXPECT_TRUE(lost.defined());
  EXPECT_EQ(error_of([&] { x + lost; }),
            "[add] operand 1 (y) is a value of graph old, which is no longer built" + line(__LINE__ - 1));
  const auto asks = [&] { lost.type(); };
  EXPECT_EQ(error_of(asks),
            "a value of graph old is used, which is no longer built: values last until their builder ends, finishes or "
            "forgets" +
                line(__LINE__ - 4));
}

TEST(LostValues, TheGraphThatWasTakenHasNoneAnyMore) {
  GraphBuilder builder("taken");
  const Value x = builder.input("x", f32({2}));
  const Graph graph = builder.finish();
  EXPECT_EQ(graph.arguments.size(), 1u);
  EXPECT_EQ(error_of([&] { -x; }).rfind("a value of graph taken is used, which is no longer built", 0), 0u);
}

// Formulas of schedules and loops: the builder of each is at the address of the previous one.
TEST(LostValues, ATermOfAnotherFormulaIsNoticed) {
  std::optional<loop::Expr> kept;
  loop::define<1>([&](loop::Expr x) {
    kept = x;
    return x + 1.0;
  });
  const std::string finished = "an Expr is used whose formula is finished: each formula has terms of its own";
  EXPECT_EQ(error_of([&] { loop::define<1>([&](loop::Expr x) { return x * *kept; }); }), finished);
  EXPECT_EQ(error_of([&] { exp(*kept); }), finished);
  EXPECT_EQ(error_of([&] {
              loop::define<1>([&](loop::Expr x) {
                loop::define<1>([&](loop::Expr y) { return x + y; });
                return x;
              });
            }),
            "an Expr of another formula is used: each formula has terms of its own");
  EXPECT_EQ(error_of([] { loop::define<1>([](loop::Expr x) { return x + exp(loop::Expr(2.0)); }); }),
            "a loop function of plain numbers: compute it before, or with a term of the formula beside them");
}

}  // namespace
}  // namespace ridgeline
