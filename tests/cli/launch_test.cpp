// `ridgeline launch` as a user calls it.
#include <gtest/gtest.h>

#include "ridgeline/core/file.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

testing::Outcome launch(const std::string& words) {
  return testing::run_shell("cd " + testing::temporary_directory() + " && " + testing::program() + " launch " + words);
}

TEST(LaunchCommand, OneRankTrainsInItsFolder) {
  const testing::Outcome outcome = launch(
      "--ranks=1 -- train --synthetic --model=resnet20 --num_classes=10 --batch_size=4 --mode=train "
      "--max_train_steps=2 "
      "--log_dir=./model_1p");
  testing::expect(outcome, 0, {"rank 0 of 1, device 0", "rank 0: train success"});
  const std::string folder = testing::temporary_directory() + "/results/1p/0";
  EXPECT_TRUE(is_regular_file(folder + "/model_1p/metrics.jsonl"));
  EXPECT_TRUE(read_file(folder + "/train_0.log").ends_with("turing train success\n"));
}

TEST(LaunchCommand, AFailureIsTheCommandsExitCode) {
  testing::expect(launch("--ranks=2 --results=bad -- train --no_such_flag"), 2,
                  {"rank 0: train fail (exit code 2), see ", "bad/2p/0/train_0.log"});
}

TEST(LaunchCommand, WrongCallsAreTold) {
  testing::expect(launch("--ranks=1"), 2, {"launch: no command behind --"});
  testing::expect(launch("--rank_table=no.json -- train"), 2, {"the path no.json is not a valid real path"});
}

}  // namespace
}  // namespace ridgeline
