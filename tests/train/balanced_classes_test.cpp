// --class_weights=balanced and --sampler=balanced: the inputs of the step, and that such runs resume like any other.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/data/data.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/data/standard/class_balance.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/train/recipe/datasets.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

// The shapes data set, but only every eighth image of the first class.
const std::string& unequal() {
  static const std::string path = [] {
    const std::string p = testing::temporary_directory() + "/unequal";
    data::make_shapes(p + "/images", {.seed = 3, .train = 160, .val = 16});
    const fs::path first = *fs::directory_iterator(p + "/images/train");
    int n = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(first)) {
      if (n++ % 8 != 0) fs::remove(entry.path());
    }
    return p;
  }();
  return path;
}

Recipe balanced(const std::string& name, const std::string& class_weights, const std::string& sampler) {
  Recipe r;
  r.data_dir = unequal() + "/images";
  r.model = "resnet20";
  r.batch_size = 8;
  r.max_epochs = 2;
  r.max_train_steps = 8;
  r.warmup_epochs = 0;
  r.lr = 0.01;
  r.num_workers = 2;
  r.save_checkpoints_steps = 4;
  r.mode = Mode::train;
  r.class_weights = class_weights;
  r.sampler = sampler;
  r.log_dir = unequal() + "/" + name;
  return r;
}

TEST(BalancedClasses, EachClassCountsAlikeInTheLoss) {
  const Recipe r = balanced("labels", "balanced", "shuffle");
  const RunData data = open_data(r, {.training = true});
  std::vector<double> counted(static_cast<std::size_t>(data.num_classes));
  data::Dataset all = data::open_source(r.data_dir, "train");
  const data::ClassBalance balance = data::class_balance(data::labels_of(all, true), data.num_classes);
  data::Iterator batches(*data.training, {.epochs = 40});
  std::int64_t rows = 0;
  while (const auto batch = batches.next()) {
    const Tensor& labels = batch->label();
    ASSERT_EQ(labels.shape(), (Shape{8, data.num_classes}));
    for (std::int64_t n = 0; n < 8; ++n, ++rows) {
      double weight = 0;
      std::int64_t largest = 0;
      for (std::int64_t k = 0; k < data.num_classes; ++k) {
        const double share = labels.at(n * data.num_classes + k);
        weight += share;
        if (share > labels.at(n * data.num_classes + largest)) largest = k;
      }
      EXPECT_NEAR(weight, balance.weight(largest), 1e-5);
      // The weight multiplies the smoothed label.
      EXPECT_NEAR(labels.at(n * data.num_classes + largest),
                  balance.weight(largest) * (0.9 + 0.1 / static_cast<double>(data.num_classes)), 1e-5);
      counted[static_cast<std::size_t>(largest)] += weight;
    }
  }
  for (const double sum : counted)
    EXPECT_NEAR(sum * static_cast<double>(data.num_classes) / static_cast<double>(rows), 1, 0.15);
}

TEST(BalancedClasses, TheSamplerDrawsClassesEquallyOften) {
  const Recipe r = balanced("draws", "none", "balanced");
  const RunData data = open_data(r, {.training = true});
  EXPECT_EQ(data.training->num_samples(), data.training_records / 8 * 8) << "as many, in whole batches";
  std::vector<double> drawn(static_cast<std::size_t>(data.num_classes));
  data::Iterator batches(*data.training, {.epochs = 60});
  std::int64_t rows = 0;
  while (const auto batch = batches.next()) {
    for (std::int64_t n = 0; n < 8; ++n, ++rows) ++drawn[static_cast<std::size_t>(batch->label().at(n))];
  }
  for (const double count : drawn)
    EXPECT_NEAR(count * static_cast<double>(data.num_classes) / static_cast<double>(rows), 1, 0.25);
}

TEST(BalancedClasses, ARunGoesOnWithTheSameBits) {
  for (const auto& [weights, sampler] : {std::pair("balanced", "shuffle"), {"none", "balanced"}}) {
    const std::string name = std::string(weights) + "_" + sampler;
    const TrainingResult whole = train(balanced("whole_" + name, weights, sampler));
    fs::create_directories(unequal() + "/cut_" + name);
    fs::copy_file(unequal() + "/whole_" + name + "/model.ckpt-4.safetensors",
                  unequal() + "/cut_" + name + "/model.ckpt-4.safetensors");
    EXPECT_EQ(read_file(train(balanced("cut_" + name, weights, sampler)).checkpoint_path),
              read_file(whole.checkpoint_path));
    const std::string refused = error_of([&] { train(balanced("cut_" + name, "none", "shuffle")); });
    EXPECT_NE(refused.find("is balanced there and"), std::string::npos) << refused;
  }
}

TEST(BalancedClasses, WhatExcludesEachOtherIsRefused) {
  EXPECT_NE(error_of([] { train(balanced("both", "balanced", "balanced")); }).find("leave one of them out"),
            std::string::npos);
  Recipe r = balanced("synthetic", "balanced", "shuffle");
  r.synthetic = true;
  r.data_dir.clear();
  EXPECT_EQ(error_of([&] { train(r); }),
            "--class_weights=balanced counts the images of each class of --data_dir: random pixels have none");
  EXPECT_EQ(error_of([] { train(balanced("other", "sqrt", "shuffle")); }),
            "--class_weights=sqrt is out of range (allowed: none, balanced)");
}

// By hand: 6 of 8 rows have class 1, 2 have class 0.
TEST(BalancedClasses, WeightsAreRowsOverClassesTimesCount) {
  const data::ClassBalance balance = data::class_balance({1, 1, 0, 1, 1, -1, 0, 1, 1}, 3);
  EXPECT_EQ(balance.counts, (std::vector<std::int64_t>{2, 6, 0}));
  EXPECT_DOUBLE_EQ(balance.weight(0), 2.0);
  EXPECT_DOUBLE_EQ(balance.weight(1), 8.0 / 12);
  EXPECT_DOUBLE_EQ(balance.weight(2), 1.0);
  EXPECT_EQ(balance.rarest, 0);
  EXPECT_EQ(balance.commonest, 1);
  EXPECT_EQ(error_of([] { data::class_balance({-1}, 2); }),
            "no training image has a label: classes cannot be balanced");
}

}  // namespace
}  // namespace ridgeline::train
