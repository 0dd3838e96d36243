// `bench step`: counts, tables and limits. --memory_limit that can be met lowers the bytes, one that cannot is one line
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

TEST(BenchStep, CountsWhatEachFusionSaves) {
  const Outcome outcome = bench("--json --fusions");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  const auto report = nlohmann::json::parse(outcome.text);
  for (const char* pass : {"fuse_addend", "fuse_epilogue", "fuse_norm_gradient", "fuse_updates"}) {
    const auto& without = report.at("without").at(pass);
    EXPECT_GT(without.at("launches"), report.at("launches")) << pass;
    EXPECT_LE(without.at("launches"), report.at("unfused_launches")) << pass;
  }
}

TEST(BenchStep, ExplainsTheTimeByKindsOfOps) {
  const auto report = nlohmann::json::parse(bench("--json").text);
  double milliseconds = 0, done = 0, formula = 0;
  for (const auto& part : report.at("parts")) {
    milliseconds += part.at("ms").get<double>();
    done += part.at("gflop_done").get<double>();
    formula += part.at("gflop").get<double>();
    EXPECT_GT(part.at("launches"), 0);
  }
  EXPECT_GT(milliseconds, 0);
  EXPECT_GT(done, formula / 10);
  const Outcome text = bench("--parts --layers --fusions");
  ASSERT_EQ(text.code, 0) << text.text;
  for (const char* expected : {"| `conv2d_bwd_weights` |", "| `all` |", "largest gaps: ", "between launches ",
                               "limits: ", "each launch at its limit: ", "share  kernel", "without fuse_pointwise"}) {
    EXPECT_NE(text.text.find(expected), std::string::npos) << expected << "\n" << text.text;
  }
}

}  // namespace
}  // namespace ridgeline
