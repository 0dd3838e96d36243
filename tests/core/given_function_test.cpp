// Functions that callers pass: an empty one is an error with the caller's line, or does nothing.
#include "ridgeline/core/given_function.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/error_of.h"

namespace ridgeline {
namespace {

int twice(const GivenFunction<int(int)>& f, int x) { return f(x) * 2; }

TEST(GivenFunction, AnEmptyOneNamesTheCallersLine) {
  EXPECT_EQ(twice([](int x) { return x + 1; }, 2), 6);
  const auto message = [](int line) {
    return "an empty function is given where one is called (" + std::string(__FILE__) + ":" + std::to_string(line) +
           ")";
  };
  EXPECT_EQ(error_of([] { twice(nullptr, 2); }), message(__LINE__));
  EXPECT_EQ(error_of([] { twice(std::function<int(int)>(), 2); }), message(__LINE__));
  int (*none)(int) = nullptr;
  EXPECT_EQ(error_of([&] { twice(none, 2); }), message(__LINE__));
}

TEST(OptionalFunction, AnEmptyOneDoesNothing) {
  std::string said;
  const auto tell = [](const OptionalFunction<void(const std::string&)>& say) { say("a line"); };
  tell(nullptr);
  tell({});
  tell(std::function<void(const std::string&)>());
  EXPECT_EQ(said, "");
  tell([&](const std::string& line) { said += line; });
  EXPECT_EQ(said, "a line");
}

}  // namespace
}  // namespace ridgeline
