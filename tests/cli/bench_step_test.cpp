// `bench step`: counts, tables and limits. A --memory_limit that can be met lowers the bytes; one that cannot is a
// one-line error with the smallest possible limit. The output shows what fusion saves.
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

TEST(BenchStep, TellsEveryLaunchInItsJson) {
  const auto report = nlohmann::json::parse(bench("--json --layers").text);
  ASSERT_EQ(report.at("layers").size(), report.at("launches").get<std::size_t>());
  for (const auto& launch : report.at("layers")) {
    EXPECT_FALSE(launch.at("kernel").get<std::string>().empty());
    EXPECT_GE(launch.at("ms"), 0);
  }
}

TEST(BenchStep, BalanceOfOneThreadLosesNothing) {
  const Outcome outcome = bench("--balance=1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  const auto report = nlohmann::json::parse(outcome.text);
  EXPECT_DOUBLE_EQ(report.at("efficiency_bound").get<double>(), 1);
  for (const auto& launch : report.at("balance")[0].at("launches")) EXPECT_EQ(launch.at("barriers"), 0);
}

// The machine's own team runs the step; the table is about a team that the machine may not have.
TEST(BenchStep, BalanceCountsThePartsOfTeamsThatTheMachineNeedNotHave) {
  const Outcome outcome = bench("--balance=4,64 --json --intra_op_parallelism_threads=1");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  const auto report = nlohmann::json::parse(outcome.text);
  const auto &four = report.at("balance")[0], &many = report.at("balance")[1];
  EXPECT_EQ(four.at("threads"), 4);
  EXPECT_EQ(many.at("threads"), 64);
  EXPECT_EQ(report.at("efficiency_bound"), four.at("efficiency_bound"));
  EXPECT_LT(many.at("efficiency_bound"),
            four.at("efficiency_bound"));  // 8 images of 16x16 are too little work for 64 threads
  for (const auto& team : report.at("balance")) {
    double shares = 0;
    for (const auto& launch : team.at("launches")) {
      shares += launch.at("share").get<double>();
      if (launch.at("library")) continue;
      const double bound = launch.at("efficiency_bound"), threads = team.at("threads");
      EXPECT_LE(bound, 1 + 1e-9) << launch.dump();
      EXPECT_GE(bound, 1 / threads - 1e-9) << launch.dump();
      if (launch.at("barriers") > 0) {
        EXPECT_GT(launch.at("items"), 1) << launch.dump();
      }
    }
    EXPECT_NEAR(shares, 1, 1e-6);
  }
}

TEST(BenchStep, BalanceIsATableForPeople) {
  const Outcome outcome = bench("--balance=16");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  for (const char* expected : {"| launch | of the step | items | largest share | serial | barriers | bound at 16 |",
                               "16 threads: bound ", " of the work serial"}) {
    EXPECT_NE(outcome.text.find(expected), std::string::npos) << expected << "\n" << outcome.text;
  }
}

TEST(BenchStep, BalanceOfWhatCannotBeRecordedIsOneLine) {
  for (const char* arguments : {"--balance=0", "--balance=4,", "--balance=four", "--balance=2 --device=simulated",
                                "--balance=2 --inter_op_parallelism_threads=2"}) {
    const Outcome outcome = bench(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.text;
    EXPECT_NE(outcome.text.find("--balance"), std::string::npos) << outcome.text;
  }
}

}  // namespace
}  // namespace ridgeline
