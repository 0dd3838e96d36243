// Ranks with different callbacks once cut their loops at different steps, so their exchanges after loops did not match,
// and they waited for each other without end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

// Two ranks train ten steps with these flags, in loops of up to eight.
void expect_both_ranks_train(const std::string& name, const std::string& flags) {
  const std::string folder = testing::temporary_directory() + "/unlike_loops_" + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  testing::expect(testing::run_shell(
                      fmt::format("cd {} && {} launch --ranks 2 -- train --model=linear --image_size=16 --mode=train "
                                  "--batch_size=4 --max_epochs=10 --max_train_steps=10 --warmup_epochs=0 --lr=0.001 "
                                  "--iterations_per_loop=8 --intra_op_parallelism_threads=1 --log_dir={}/out {}",
                                  folder, testing::program(), folder, flags)),
                  0, {"rank 0: train success", "rank 1: train success"});
  EXPECT_EQ(train::list_checkpoints(folder + "/out").back().step, 10);
}

TEST(UnlikeLoops, PicturesThatOneRankDrawsCutTheLoopsOfAll) {
  expect_both_ranks_train(
      "pictures", "--synthetic --num_classes=4 --pipeline_stages=2 --save_checkpoints_secs=3600 --picture_steps=3");
}

TEST(UnlikeLoops, CheckpointsThatOneRankWritesCutTheLoopsOfAll) {
  const std::string shapes = testing::temporary_directory() + "/unlike_loops_shapes";
  data::make_shapes(shapes, {.train = 32, .val = 10});
  expect_both_ranks_train("checkpoints", "--data_dir=" + shapes + " --save_checkpoints_steps=5 --num_workers=1");
}

}  // namespace
}  // namespace ridgeline
