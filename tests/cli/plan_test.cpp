// `ridgeline plan` from the command line.
#include <gtest/gtest.h>

#include "ridgeline/core/file.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

testing::Outcome plan(const std::string& words) {
  return testing::run_shell("cd " + testing::temporary_directory() + " && " + testing::program() + " plan " + words);
}

TEST(PlanCommand, AMeasuredStepIsReplayedOnEveryCluster) {
  const testing::Outcome bench =
      testing::run_shell("cd " + testing::temporary_directory() + " && " + testing::program() +
                         " bench step --model=resnet20 --num_classes=10 --batch_size=4 --steps=1 --json > step.json");
  ASSERT_EQ(bench.code, 0) << bench.text;
  testing::expect(
      plan("step.json"), 0,
      {"resnet20: 4 images a rank, ", "1.1 MB of gradients", "h200x8 ", "h200x8_ethernet_1024 ", "cpu_ethernet_64 "});
  testing::expect(plan("step.json --cluster=h200x8_ib_64 --images_per_second=20000 --buckets=3"), 0,
                  {"0.20 ms alone", "400 GB/s", "figures: data sheets of NVIDIA H200", "best of at most 3 buckets",
                   "idxList [", "to gradient "});
  testing::expect(plan("step.json --json --cluster=h200x8"), 0, {R"("cluster":"h200x8")", R"("hidden_share":)"});
}

TEST(PlanCommand, AutoParallelDividesTheLargeDenseLayersOfAMeasuredStep) {
  write_file_atomically(testing::temporary_directory() + "/alexnet.json",
                        R"({"model": "alexnet_torchvision", "batch_size": 128, "ms_per_step": 32, "timeline":
          [{"name": "a", "ms": 32, "gradient_bytes": 244000000, "update": false}]})");
  const testing::Outcome text = plan("alexnet.json --auto_parallel --cluster=h200x8");
  testing::expect(
      text, 0,
      {"h200x8: auto_parallel over 8 ranks: classifier.1/dense ", "; all else data; estimated ", " with all by data"});
  EXPECT_EQ(text.text.find("classifier.4/dense data"), std::string::npos) << text.text;
  testing::expect(plan("alexnet.json --auto_parallel --cluster=h200x8 --json"), 0,
                  {R"("auto_parallel":{)", R"("classifier.1/dense":)"});
}

TEST(PlanCommand, WrongCallsAreTold) {
  write_file_atomically(testing::temporary_directory() + "/no_step.json", "{}");
  testing::expect(plan("no_step.json"), 2, {"[plan] no_step.json: has no 'model'"});
  testing::expect(plan("missing.json"), 1, {"missing.json"});
  write_file_atomically(testing::temporary_directory() + "/one.json",
                        R"({"model": "m", "batch_size": 4, "ms_per_step": 2, "timeline":
          [{"name": "a", "ms": 2, "gradient_bytes": 400, "update": false}]})");
  testing::expect(plan("one.json --cluster=x"), 2, {"unknown cluster 'x' (allowed: h200x8, "});
  testing::expect(plan("one.json --buckets=0"), 2, {"0 buckets (allowed: 1 to 64)"});
  testing::expect(plan("one.json --images_per_second=1e-308"), 2, {"a step would take more than"});
  testing::expect(plan("one.json --images_per_second=-1"), 2, {"--images_per_second=-1 (allowed: 0 or more)"});
}

}  // namespace
}  // namespace ridgeline
