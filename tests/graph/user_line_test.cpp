// Source lines of a program in another language that calls C++ functions which add ops.
#include <gtest/gtest.h>

#include "ridgeline/graph/ir/builder.h"
#include "tests/support/error_of.h"

namespace ridgeline::user_line {
namespace {

Location line(std::uint32_t number) { return {.file = "net.py", .line = number, .function = "net"}; }

TEST(UserLine, OpsAndErrorsAreOfTheLineThatIsSaidWhileItIsAlive) {
  GraphBuilder builder("lines");
  const Value x = builder.input("x", {DType::f32, {2, 3}}), y = builder.input("y", {DType::f32, {4, 3}});
  {
    const GraphBuilder::UserLine outer(builder, line(7));
    EXPECT_TRUE((x * 2.0).defined());
    EXPECT_EQ(builder.graph().nodes.back().where.front(), line(7));
    {
      const GraphBuilder::UserLine inner(builder, line(9));
      builder.apply("relu", {x});
      EXPECT_EQ(builder.graph().nodes.back().where.front(), line(9));
    }
    const std::string text = error_of([&] { builder.apply("add", {x, y}); });
    EXPECT_NE(text.find("(net.py:7)"), std::string::npos) << text;
  }
  builder.apply("relu", {x});
  EXPECT_NE(builder.graph().nodes.back().where.front().file.find("user_line_test.cpp"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::user_line
