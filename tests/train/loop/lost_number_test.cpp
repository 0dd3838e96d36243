// A loss that is no longer finite: the run ends at exactly that step, and no checkpoint contains such numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/text/json_lines.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/checkpoint/finite.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

// A penalty so strong that weights grow in every step until their squares overflow, between two log lines.
Recipe exploding(const std::string& log_dir, const std::string& model = "linear") {
  Recipe r;
  r.synthetic = true;
  r.mode = Mode::train;
  r.model = model;
  r.image_size = 32;
  r.num_classes = 10;
  r.batch_size = 4;
  r.warmup_epochs = 0;
  r.lr = 0.1;
  r.weight_decay = 300;
  r.optimization.arguments.momentum = 0;
  r.iterations_per_loop = 50;
  r.save_summary_steps = 1000;
  r.max_train_steps = 100;
  r.save_checkpoints_steps = 4;
  r.max_checkpoint_to_save = 2;
  r.log_dir = log_dir;
  return r;
}

TEST(LostNumber, EndsTheRunAtItsStepAndLeavesTheLastGoodCheckpoint) {
  const std::string log_dir = testing::temporary_directory() + "/lost_number";
  fs::remove_all(log_dir);
  std::string message;
  try {
    train(exploding(log_dir));
  } catch (const Error& error) {
    message = error.what();
  }
  const std::vector<CheckpointFile> files = list_checkpoints(log_dir);
  ASSERT_EQ(files.size(), 2u) << message;
  for (const CheckpointFile& file : files) {
    EXPECT_EQ(first_not_finite(load_checkpoint(file).tensors.tensors()), "") << file.path;
  }
  const auto lines = read_json_lines(log_dir + "/metrics.jsonl");
  ASSERT_EQ(lines.size(), 1u);  // the step at which it happened
  const std::int64_t step = std::get<std::int64_t>(lines[0].at("step"));
  EXPECT_FALSE(std::isfinite(std::get<double>(lines[0].at("total_loss"))));
  // It is the first such step, up to four steps after the last checkpoint.
  EXPECT_GT(step, files.back().step);
  EXPECT_LE(step, files.back().step + 4);
  for (const std::string& part : {"step " + std::to_string(step) + ": ", std::string("Invalid loss"),
                                  std::string("learning rate (0.1)"), files.back().path}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
  fs::remove_all(log_dir);
}

// A loss may be finite although stored values are not: the squares of these activations overflow, so the variance that
// a normalisation stores is infinite and its output is zero.
TEST(LostNumber, WhatAStepWithAFiniteLossLeavesIsLookedAtBeforeItIsSaved) {
  const std::string root = testing::temporary_directory() + "/lost_statistics";
  fs::remove_all(root);
  Recipe r = exploding(root + "/source", "resnet20");
  r.weight_decay = 0;
  r.lr = 0;
  r.max_train_steps = 1;
  std::vector<NamedTensor> weights;
  const SafetensorsFile drawn(train(r).checkpoint_path);
  for (const NamedTensor& t : drawn.tensors()) {
    weights.push_back({t.name, t.tensor.clone()});
  }
  Tensor& first = weights.front().tensor;  // a convolution, [K,R,S,C] or [K,C,R,S]
  ASSERT_EQ(first.shape().rank(), 4);
  const std::int64_t filter = first.elements() / first.shape()[0];
  std::fill_n(first.data<float>(), filter, 2e18f);
  write_safetensors(root + "/weights.safetensors", weights);
  r.restore_path = root + "/weights.safetensors";
  r.log_dir = root + "/run";
  std::string message;
  try {
    train(r);
  } catch (const Error& error) {
    message = error.what();
  }
  const auto lines = read_json_lines(r.log_dir + "/metrics.jsonl");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(std::isfinite(std::get<double>(lines[0].at("loss"))));
  EXPECT_TRUE(std::isfinite(std::get<double>(lines[0].at("total_loss"))));
  EXPECT_TRUE(list_checkpoints(r.log_dir).empty());
  for (const char* part : {"step 1: ", "holds numbers that are not finite", "There is no checkpoint"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
  fs::remove_all(root);
}

TEST(LostNumber, IsSeenInAnyTensor) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<NamedTensor> tensors{{"a", Tensor::of<float>({1, 2}, {2})},
                                         {"step", Tensor::of<std::int64_t>({7}, {1})},
                                         {"b", Tensor::of<float>({1, -infinity}, {2})},
                                         {"c", Tensor::of<float>({std::nanf("")}, {1})}};
  EXPECT_EQ(first_not_finite(tensors), "b");
  EXPECT_EQ(first_not_finite({tensors[0], tensors[1]}), "");
  EXPECT_EQ(first_not_finite({tensors[3]}), "c");
}

}  // namespace
}  // namespace ridgeline::train
