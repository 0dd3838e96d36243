#include <gtest/gtest.h>

#include <random>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/loop/builder.h"
#include "ridgeline/graph/loop/text.h"

namespace ridgeline::loop {
namespace {

std::string error_of(const std::string& text, int operands = -1) {
  try {
    parse(text, operands);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(LoopText, PrintsPrecedenceWithTheFewestParentheses) {
  for (const char* text : {"x0 + x1 * x2",
                           "(x0 + x1) * x2",
                           "x0 - (x1 - x2)",
                           "x0 - x1 - x2",
                           "x0 / (x1 * x2)",
                           "-x0 * x1",
                           "-(x0 * x1)",
                           "-(-x0)",
                           "-2 * x0",
                           "-(2)",
                           "-(-2)",
                           "x0 - -2",
                           "max(x0, 0)",
                           "select(0 < x0, x1, 0)",
                           "(x0 < x1) + 1",
                           "x0 <= x1 + 1",
                           "(x0 == x1) == x2",
                           "uniform(x1, 0x123456789abcdef0) * x0",
                           "sum(x0 + x1 * x2)",
                           "t0 = 0.9 * x1 + x2; x0 - x3 * t0; t0",
                           "x0; x0; sum(x0)",
                           "exp(log(sqrt(abs(floor(cos(sin(x0)))))))",
                           "min(x0, inf)",
                           "max(x0, -inf)",
                           "x0 + 1e-05",
                           "x0 * 0.1",
                           "x0 * -0"}) {
    EXPECT_EQ(to_string(parse(text)), text);
  }
}

TEST(LoopText, NamesOperandsInFormulas) {
  const Expression e = define<2>([](Expr y, Expr dy) { return select(y > 0, dy, 0); });
  EXPECT_EQ(to_string(e, {"y", "dy"}), "select(0 < y, dy, 0)");
}

TEST(LoopText, MergesEqualTermsAndDropsUnusedOnes) {
  Builder b;
  const Expr x = b.operand(0);
  b.store((x * 2) + (b.operand(0) * 2));
  exp(x);
  EXPECT_EQ(to_string(b.finish(1)), "t0 = x0 * 2; t0 + t0");
  EXPECT_EQ(parse("x0 * 2 + x0 * 2"), b.finish(1));
  // Zeros with different signs are different constants.
  EXPECT_EQ(to_string(parse("x0 * 0 + x0 * -0")), "x0 * 0 + x0 * -0");
}

TEST(LoopText, PastesAProducerIntoItsReader) {
  const Expression scale = parse("x0 * 0.5");
  const Expression add = parse("x0 + x1");
  Builder b;
  const Expr scaled = b.paste(scale, std::vector<Expr>{b.operand(1)}).front();
  b.store(b.paste(add, std::vector<Expr>{b.operand(0), scaled}).front());
  EXPECT_EQ(to_string(b.finish(2)), "x0 + x1 * 0.5");
}

TEST(LoopText, ErrorsShowThePlace) {
  EXPECT_EQ(error_of("max(x0 x1)"), "[loop] expected ',' at character 8 of 'max(x0 x1)'");
  EXPECT_EQ(error_of("sqr(x0)"), "[loop] unknown name 'sqr' (did you mean sqrt?) at character 1 of 'sqr(x0)'");
  EXPECT_EQ(error_of("x2", 2), "[loop] x2 is outside the 2 operands at character 3 of 'x2'");
  EXPECT_NE(error_of("x0 < x1 < x2").find("expected ';' or the end"), std::string::npos);
  EXPECT_NE(error_of("t0 = x0").find("expected a result"), std::string::npos);
  EXPECT_NE(error_of("t0 = x0; t0 = x1; t0").find("bound twice"), std::string::npos);
  EXPECT_NE(error_of("uniform(x0 + 1, 3)").find("expected ','"), std::string::npos);
  EXPECT_NE(error_of("uniform(2, 3)").find("must be an operand"), std::string::npos);
  EXPECT_NE(error_of("").find("expected a value"), std::string::npos);
  EXPECT_NE(error_of(std::string(1000, '(') + "x0").find("nested too deeply"), std::string::npos);
  EXPECT_NE(error_of(std::string(1000, '-') + "x0").find("nested too deeply"), std::string::npos);
}

TEST(LoopText, RandomExpressionsParseBackToThemselves) {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t n) { return random() % n; };
  for (int round = 0; round < 500; ++round) {
    Builder b;
    std::vector<Expr> terms;
    for (int i = 0; i < 3; ++i) terms.push_back(b.operand(i));
    const auto any = [&] { return terms[below(static_cast<std::uint32_t>(terms.size()))]; };
    for (std::uint32_t i = 0, n = 1 + below(25); i < n; ++i) {
      switch (below(4)) {
        case 0:
          terms.push_back(apply(static_cast<Kind>(static_cast<int>(Kind::neg) + static_cast<int>(below(8))), any()));
          break;
        case 1:
          terms.push_back(
              apply(static_cast<Kind>(static_cast<int>(Kind::add) + static_cast<int>(below(9))), any(), any()));
          break;
        case 2: terms.push_back(select(any(), any(), any())); break;
        default:
          terms.push_back(below(2) ? b.constant((static_cast<double>(random()) - 2e9) * 1e-7)
                                   : uniform(b.operand(0), random() * 0x100000001ull));
      }
    }
    b.store(terms.back());
    if (below(2)) b.sum(any());
    b.store(any());
    b.store(b.operand(2));  // the last operand is used, so the count follows from the text
    const Expression e = b.finish(3);
    const std::string text = to_string(e);
    ASSERT_EQ(parse(text), e) << text;
    ASSERT_EQ(to_string(parse(text)), text);
  }
}

}  // namespace
}  // namespace ridgeline::loop
