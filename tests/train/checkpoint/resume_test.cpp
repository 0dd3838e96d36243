// Losses and the final checkpoint are bitwise the same for any number of data workers and any length of a loop. For
// kills in the middle see killed_run_test.cpp.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/format/text/json_lines.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kResumedSteps = 24;

// A small set of generated images, created once.
const std::string& pictures_of_the_run() {
  static const std::string directory = [] {
    const std::string path = testing::temporary_directory() + "/images";
    data::make_shapes(path, {.seed = 3, .train = 100, .val = 20});
    return path;
  }();
  return directory;
}

Recipe recipe(const std::string& log_dir, int workers, std::int64_t loop) {
  Recipe r;
  r.data_dir = pictures_of_the_run();
  r.model = "resnet20";
  r.batch_size = 8;
  r.max_epochs = 4;
  r.max_train_steps = kResumedSteps;
  r.warmup_epochs = 1;
  r.num_workers = workers;
  r.iterations_per_loop = loop;
  r.save_summary_steps = 1000;
  r.save_checkpoints_steps = 5;
  r.mode = Mode::train;
  r.log_dir = log_dir;
  return r;
}

std::string directory(const std::string& name) {
  const std::string path = testing::temporary_directory() + "/" + name;
  fs::remove_all(path);
  return path;
}

std::string final_checkpoint(const std::string& log_dir) {
  return read_file(log_dir + "/model.ckpt-" + std::to_string(kResumedSteps) + ".safetensors");
}

// Losses by step; if a step was logged twice, the later one.
std::map<std::int64_t, double> losses(const std::string& log_dir) {
  std::map<std::int64_t, double> by_step;
  for (const auto& line : read_json_lines(log_dir + "/metrics.jsonl")) {
    by_step[std::get<std::int64_t>(line.at("step"))] = std::get<double>(line.at("loss"));
  }
  return by_step;
}

struct Baseline {
  std::string checkpoint;
  std::map<std::int64_t, double> losses;
};

const Baseline& baseline() {
  static const Baseline result = [] {
    const std::string log_dir = directory("baseline");
    train(recipe(log_dir, 2, 1));
    Baseline b{final_checkpoint(log_dir), losses(log_dir)};
    fs::remove_all(log_dir);
    return b;
  }();
  return result;
}

TEST(Resume, WorkersAndLoopLengthChangeNoBit) {
  for (int workers : {1, 2, 7}) {
    for (std::int64_t loop : {1, 10}) {
      const std::string log_dir = directory("plain");
      train(recipe(log_dir, workers, loop));
      EXPECT_EQ(final_checkpoint(log_dir), baseline().checkpoint) << workers << " workers, loop " << loop;
      for (const auto& [step, loss] : losses(log_dir)) {
        EXPECT_EQ(loss, baseline().losses.at(step)) << "step " << step;
      }
      fs::remove_all(log_dir);
    }
  }
}

// Their slots are in the checkpoint, and their corrections depend on the number of steps.
TEST(Resume, EveryOptimizerGoesOnAsIfItHadNotStopped) {
  for (const optim::OptimizerEntry& entry : optim::optimizers()) {
    const std::string whole = directory("whole"), parts = directory("parts");
    const auto run = [&](const std::string& log_dir, std::int64_t steps) {
      Recipe r = recipe(log_dir, 1, 10);
      r.model = "linear";
      r.image_size = 16;
      r.lr = 1e-3;
      r.max_train_steps = steps;
      r.optimization.optimizer = entry.name;
      r.optimization.schedule = "cosine";
      r.optimization.groups = {{.pattern = "*bias", .rate_factor = 0.5}};
      train(r);
    };
    run(whole, kResumedSteps);
    run(parts, 7);
    run(parts, kResumedSteps);
    EXPECT_EQ(final_checkpoint(parts), final_checkpoint(whole)) << entry.name;
    fs::remove_all(whole);
    fs::remove_all(parts);
  }
}

TEST(Resume, AnotherOptimizerIsAnotherRun) {
  const std::string log_dir = directory("other");
  Recipe r = recipe(log_dir, 1, 10);
  r.model = "linear";
  r.image_size = 16;
  r.max_train_steps = 2;
  train(r);
  r.max_train_steps = 3;
  r.optimization.optimizer = "adam";
  try {
    train(r);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("--optimizer"), std::string::npos) << error.what();
  }
  fs::remove_all(log_dir);
}

// The folder after a kill between writing the last checkpoint and the files that belong to it: the pointer is the
// previous one, and no older checkpoint has been removed.
TEST(Resume, WhatAKillLeftOfTheLastSaveIsDoneByTheNextStart) {
  const std::string log_dir = directory("settled");
  Recipe r = recipe(log_dir, 1, 10);
  r.model = "linear";
  r.image_size = 16;
  r.max_train_steps = 20;
  train(r);
  const std::string pointer = log_dir + "/checkpoint";
  ASSERT_EQ(read_file(pointer), "model_checkpoint_path: \"model.ckpt-20.safetensors\"\n");
  write_file_atomically(pointer, "model_checkpoint_path: \"model.ckpt-15.safetensors\"\n");
  r.max_checkpoint_to_save = 2;
  train(r);
  EXPECT_EQ(read_file(pointer), "model_checkpoint_path: \"model.ckpt-20.safetensors\"\n");
  std::vector<std::int64_t> steps;
  for (const CheckpointFile& file : list_checkpoints(log_dir)) steps.push_back(file.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{15, 20}));
  fs::remove_all(log_dir);
}

TEST(Resume, ADoneRunIsNotDoneAgain) {
  const std::string log_dir = directory("done");
  train(recipe(log_dir, 2, 10));
  const std::string before = final_checkpoint(log_dir);
  const TrainingResult again = train(recipe(log_dir, 2, 10));
  EXPECT_EQ(again.step, kResumedSteps);
  EXPECT_EQ(final_checkpoint(log_dir), before);
  fs::remove_all(log_dir);
}

}  // namespace
}  // namespace ridgeline::train
