// Checkpoints: equal runs give equal bytes, damaged ones are passed over and said, a failed save loses nothing.
#include "ridgeline/train/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

class Checkpoint : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/ridgeline_checkpoint_" +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string save(std::int64_t step, std::int64_t keep = 5) const {
    CheckpointInfo info;
    info.model = "alexnet";
    info.num_classes = 10;
    info.image_size = 64;
    info.step = step;
    info.steps_per_epoch = 4;
    info.seed = 1;
    info.class_names = {"cat", "dog"};
    return save_checkpoint(directory_, info, {{"w", Tensor::of<float>({1, 2, 3}, {3})}}, keep);
  }

  std::string directory_;
};

TEST_F(Checkpoint, RoundTripsWithEverythingThatDefinesTheRun) {
  save(8);
  const LoadedCheckpoint loaded = load_checkpoint(list_checkpoints(directory_).front());
  EXPECT_EQ(loaded.info.model, "alexnet");
  EXPECT_EQ(loaded.info.step, 8);
  EXPECT_EQ(loaded.info.epoch(), 2.0);
  EXPECT_EQ(loaded.info.class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(loaded.tensors.tensor("w").at(2), 3.0);
  EXPECT_EQ(read_file(directory_ + "/checkpoint"), "model_checkpoint_path: \"model.ckpt-8.safetensors\"\n");
}

TEST_F(Checkpoint, EqualRunsGiveEqualBytes) {
  const std::string first = read_file(save(3));
  EXPECT_EQ(read_file(save(3)), first);
}

TEST_F(Checkpoint, KeepsTheNewestAndListsThemByStep) {
  for (std::int64_t step : {2, 4, 6, 10, 100}) save(step, 3);
  std::vector<std::int64_t> steps;
  for (const CheckpointFile& file : list_checkpoints(directory_)) steps.push_back(file.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{6, 10, 100}));
  EXPECT_FALSE(fs::exists(directory_ + "/model.ckpt-2.json"));
}

TEST_F(Checkpoint, FallsBackToTheNewestWholeFileAndSaysSo) {
  save(2);
  const std::string newest = save(4);
  const std::string whole = read_file(newest);
  for (std::size_t size : {std::size_t{0}, std::size_t{7}, whole.size() / 2, whole.size() - 1}) {
    std::ofstream(newest, std::ios::binary | std::ios::trunc).write(whole.data(), static_cast<std::streamsize>(size));
    std::vector<std::string> warnings;
    const auto loaded = load_newest(directory_, [&](std::string text) { warnings.push_back(std::move(text)); });
    ASSERT_TRUE(loaded.has_value());
    EXPECT_EQ(loaded->info.step, 2);
    ASSERT_EQ(warnings.size(), 1u) << size;
    EXPECT_NE(warnings[0].find("model.ckpt-4"), std::string::npos);
  }
}

TEST_F(Checkpoint, AFullDiskLeavesTheOldOnesAndNoTemporaryFile) {
  save(2);
  const std::string before = read_file(directory_ + "/model.ckpt-2.safetensors");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{64, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message;
  try {
    save(4);
  } catch (const Error& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_NE(message.find("model.ckpt-4.safetensors"), std::string::npos) << message;
  EXPECT_EQ(read_file(directory_ + "/model.ckpt-2.safetensors"), before);
  EXPECT_EQ(read_file(directory_ + "/checkpoint"), "model_checkpoint_path: \"model.ckpt-2.safetensors\"\n");
  EXPECT_EQ(list_checkpoints(directory_).size(), 1u);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()),
            3);  // file, information, pointer
}

TEST_F(Checkpoint, WeightsOfAnotherProgramAreNoCheckpoint) {
  fs::create_directories(directory_);
  write_safetensors(directory_ + "/model.ckpt-1.safetensors", {{"w", Tensor::of<float>({1}, {1})}});
  EXPECT_THROW(load_checkpoint(list_checkpoints(directory_).front()), Error);
}

}  // namespace
}  // namespace ridgeline::train
