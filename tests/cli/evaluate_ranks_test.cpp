// An evaluation on several ranks: each takes its share of the images, one writes, and the results are those of one
// rank.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using testing::expect;
using testing::Outcome;

class EvaluateRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    data::make_shapes(root_ + "/images",
                      {.seed = 3, .train = 24, .val = 21});  // 21 rows: no number of ranks divides them
    expect(in_root("train --mode=train --model=linear --image_size=16 --batch_size=8 --max_epochs=2 --warmup_epochs=0 "
                   "--save_checkpoints_steps=2 --lr=0.01 --label_smoothing=0 --data_dir=images --log_dir=run"),
           0, {});
  }
  void TearDown() override { fs::remove_all(root_); }
  Outcome in_root(const std::string& words) const {
    return testing::run_shell("cd " + root_ + " && " + testing::program() + " " + words);
  }
  Outcome launched(int ranks, const std::string& more) const {
    return in_root(fmt::format("launch --ranks={} --results=results{} -- {} {}", ranks, ranks, kEvaluate, more));
  }
  // The lines after the header: one per checkpoint with its results.
  static std::string rows(const std::string& text) {
    const std::size_t at = text.find("checkpoint_time(UTC)\n");
    return at == std::string::npos ? text : text.substr(at, text.find("Finished evaluation") - at);
  }

  static constexpr const char* kEvaluate =
      "evaluate --data_dir=images --checkpoint_dir=run --batch_size=4 --metrics=recall,confusion_matrix "
      "--intra_op_parallelism_threads=1";
  const std::string root_ = testing::temporary_directory() + "/evaluate_ranks";
};

TEST_F(EvaluateRanks, HaveTheRowsOfOneAndOneLog) {
  const Outcome alone = in_root(kEvaluate);
  expect(alone, 0, {"Validation dataset size: 21", "\nrecall: mean ", "Finished evaluation"});
  for (const int ranks : {2, 3}) {
    SCOPED_TRACE(ranks);
    expect(launched(ranks, "--log_dir=" + root_ + fmt::format("/looked{}", ranks)), 0,
           {"rank 0: train success", "rank 1: train success"});
    EXPECT_EQ(rows(read_file(root_ + fmt::format("/looked{}/linear_training.log", ranks))), rows(alone.text));
    // The other ranks print nothing.
    const std::string folder = root_ + fmt::format("/results{0}/{0}p/", ranks);
    EXPECT_EQ(rows(read_file(folder + "0/train_0.log")), rows(alone.text));
    EXPECT_EQ(read_file(folder + "1/train_1.log").find("Evaluating"), std::string::npos);
  }
}

TEST_F(EvaluateRanks, ABatchOfMoreRowsThanImagesIsCutToThese) {
  const auto top_1 = [&](const std::string& text) {
    const std::string all = rows(text);
    const std::size_t at = all.find("\n") + 1;
    return all.substr(at, 30);  // step, epoch, top1, top5
  };
  const std::string large = std::string(kEvaluate) + " --batch_size=1000000", alone = in_root(kEvaluate).text;
  const Outcome cut = in_root(large);
  expect(cut, 0, {"\nbatch size: 21 instead of 1000000, which no batch would fill\n"});
  EXPECT_EQ(top_1(cut.text), top_1(alone)) << cut.text;
  const Outcome full = in_root(std::string(kEvaluate) + " --batch_size=21");
  EXPECT_EQ(full.text.find("batch size:"), std::string::npos) << full.text;
  expect(in_root("launch --ranks=2 --results=large -- " + large), 0, {"rank 1: train success"});
  const std::string of_ranks = read_file(root_ + "/large/2p/0/train_0.log");
  EXPECT_NE(of_ranks.find("batch size: 11 instead of 1000000"), std::string::npos) << of_ranks;
  EXPECT_EQ(top_1(of_ranks), top_1(alone)) << of_ranks;
  // Where bits do not follow from the batch, or batches without all their rows are left out, it stays.
  expect(in_root(std::string(kEvaluate) + " --batch_size=22 --eval_drop_remainder"), 1,
         {"21 samples, batches of 22 and the remainder is dropped"});
  const Outcome kept = in_root(std::string(kEvaluate) + " --batch_size=22 --reproducibility=deterministic");
  expect(kept, 0, {});
  EXPECT_EQ(kept.text.find("batch size:"), std::string::npos) << kept.text;
}

TEST_F(EvaluateRanks, LeaveOutWhatTheMainOneCannotRead) {
  std::string newest;
  for (const auto& file : fs::directory_iterator(root_ + "/run")) {
    const std::string path = file.path().string();
    if (path.ends_with("ckpt-2.safetensors")) newest = path;
  }
  ASSERT_FALSE(newest.empty());
  fs::resize_file(newest, fs::file_size(newest) / 2);
  expect(launched(2, ""), 0, {"rank 0: train success", "rank 1: train success"});
  const std::string said = read_file(root_ + "/results2/2p/0/train_0.log");
  EXPECT_NE(said.find("ckpt-2.safetensors"), std::string::npos) << said;
  EXPECT_NE(said.find("it is left out"), std::string::npos) << said;
  EXPECT_NE(said.find("Finished evaluation"), std::string::npos) << said;
}

TEST_F(EvaluateRanks, EndTogetherByOneReason) {
  expect(in_root(fmt::format("launch --ranks=2 --results=nothing -- {} --checkpoint_dir=images", kEvaluate)), 1, {});
  const std::string other = read_file(root_ + "/nothing/2p/1/train_1.log");
  EXPECT_NE(other.find("rank 0 gave up: no checkpoint"), std::string::npos) << other;
}

TEST_F(EvaluateRanks, ABenchmarkTellsTheSpeedOfADeviceAndItsScaling) {
  const std::string words =
      "launch --ranks=2 --results=bench -- train --synthetic --mode=train --benchmark --model=linear --image_size=16 "
      "--num_classes=10 --batch_size=8 --max_train_steps=12 --save_summary_steps=4 --do_checkpoint=False "
      "--intra_op_parallelism_threads=1 --log_dir=bench_log";
  expect(in_root(words), 0, {"rank 0: train success"});
  const std::string log = read_file(root_ + "/bench/2p/0/train_0.log");
  for (const char* key : {"ActualFPS = ", "FPSPerDevice = ", "SingleDeviceFPS = ", "ScalingEfficiency = ",
                          " a device; one device alone "})
    EXPECT_NE(log.find(key), std::string::npos) << key << " in: " << log;
  const auto number = [&](const std::string& key) { return std::atof(log.c_str() + log.find(key) + key.size()); };
  EXPECT_NEAR(number("FPSPerDevice = "), number("ActualFPS = ") / 2, 0.02);
  EXPECT_NEAR(number("ScalingEfficiency = "), number("FPSPerDevice = ") / number("SingleDeviceFPS = "), 1e-3);
}

}  // namespace
}  // namespace ridgeline
