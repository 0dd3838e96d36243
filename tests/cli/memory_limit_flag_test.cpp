// --memory_limit and the counts of `bench step`: a limit that can be met lowers the bytes, one that cannot is one line
// that names the least; what fusion saves stands in the output.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/paths.h"
#include "tests/support/program.h"

namespace ridgeline {
namespace {

using testing::Outcome;

Outcome bench(const std::string& arguments) {
  return testing::run_shell(testing::program() +
                            " bench step --model=resnet20 --batch_size=8 --image_size=16 --steps=1 " + arguments);
}

TEST(MemoryLimitFlag, LowersWhatTheStepTakes) {
  const Outcome free = bench("--json");
  ASSERT_EQ(free.code, 0) << free.text;
  const auto before = nlohmann::json::parse(free.text);
  EXPECT_LT(before.at("launches"), before.at("unfused_launches"));
  EXPECT_LT(before.at("bytes"), before.at("unfused_bytes"));
  const auto limit = static_cast<std::int64_t>(before.at("memory_bytes").get<double>() * 0.93);
  const Outcome limited = bench("--json --memory_limit=" + std::to_string(limit));
  ASSERT_EQ(limited.code, 0) << limited.text;
  EXPECT_LE(nlohmann::json::parse(limited.text).at("memory_bytes"), limit);
}

TEST(MemoryLimitFlag, ThatCannotBeMetIsOneLineWithTheLeast) {
  const Outcome outcome = bench("--memory_limit=100000");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("[memory] the limit of 100.0 kB cannot be met: the least that was found is "),
            std::string::npos)
      << outcome.text;
  EXPECT_EQ(bench("--memory_limit=-1").code, 2);
}

}  // namespace
}  // namespace ridgeline
