// `ridgeline launch` as a user calls it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
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

// Losses and the last checkpoint of a run over `ranks` on the shapes data set, `batch` images on each.
std::string trained(const std::string& folder, int ranks, int batch, int steps, const std::string& more = "") {
  const std::string log_dir = testing::temporary_directory() + "/" + folder;
  const testing::Outcome outcome = launch(
      fmt::format("--ranks={} --results={}_results -- train --data_dir={}/shapes --model=resnet20 --image_size=32 "
                  "--batch_size={} --mode=train --max_train_steps={} --max_epochs=4 --save_summary_steps=1 --lr=0.01 "
                  "--warmup_epochs=0 --sync_batch_norm=True --intra_op_parallelism_threads=1 --log_dir={} {}",
                  ranks, folder, testing::temporary_directory(), batch, steps, log_dir, more));
  testing::expect(outcome, 0, {"rank 0: train success"});
  return log_dir;
}

std::vector<double> losses_of(const std::string& log_dir) {
  std::vector<double> losses;
  std::istringstream text(read_file(log_dir + "/metrics.jsonl"));
  for (std::string line; std::getline(text, line);) {
    const std::size_t at = line.find("\"loss\":");
    if (at != std::string::npos) losses.push_back(std::atof(line.c_str() + at + 7));
  }
  return losses;
}

TEST(LaunchCommand, RanksTrainOneModelAndGoOnUnderAnotherNumber) {
  data::make_shapes(testing::temporary_directory() + "/shapes", {.train = 48, .val = 12});
  const std::vector<double> one = losses_of(trained("one", 1, 16, 6));
  ASSERT_EQ(one.size(), 6u);
  const std::string two = trained("two", 2, 8, 4);
  const std::string log = read_file(two + "/resnet20_training.log");
  EXPECT_NE(log.find("rank 0 of 2: gradients are exchanged behind the backward pass"), std::string::npos) << log;
  EXPECT_NE(log.find("checksum"), std::string::npos) << log;
  trained("two", 1, 16, 5);                         // one rank goes on,
  trained("two", 2, 8, 6, "--hcom_parallel=True");  // and two again
  const std::vector<double> others = losses_of(two);
  ASSERT_EQ(others.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(others[i], one[i], 1e-3) << "step " << i + 1;
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
