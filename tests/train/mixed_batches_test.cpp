// Batches with mixed images (--mixup, --cutmix) or erased rectangles (--random_erasing): the inputs of the step, and
// that such runs resume like any other.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/data/data.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/train/recipe/datasets.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

const std::string& root() {
  static const std::string path = [] {
    const std::string p = testing::temporary_directory() + "/mixed";
    fs::remove_all(p);
    data::make_shapes(p + "/images", {.seed = 3, .train = 64, .val = 16});
    return p;
  }();
  return path;
}

Recipe recipe(const std::string& name, double mixup, double cutmix) {
  Recipe r;
  r.data_dir = root() + "/images";
  r.model = "resnet20";
  r.batch_size = 8;
  r.max_epochs = 2;
  r.max_train_steps = 8;
  r.warmup_epochs = 0;
  r.lr = 0.01;
  r.num_workers = 2;
  r.save_checkpoints_steps = 4;
  r.mode = Mode::train;
  r.mixup = mixup;
  r.cutmix = cutmix;
  r.random_erasing = 0.5;
  r.log_dir = root() + "/" + name;
  return r;
}

// The number of rows in an epoch whose label has two classes.
std::int64_t mixed_rows(const Recipe& r) {
  const RunData data = open_data(r, {.training = true});
  data::Iterator batches(*data.training, {.raw_images = r.enable_data_pre_proc});
  std::int64_t mixed = 0;
  while (const auto batch = batches.next()) {
    const Tensor& labels = batch->label();
    EXPECT_EQ(labels.dtype(), DType::f32);
    EXPECT_EQ(labels.shape(), (Shape{8, data.num_classes}));
    for (std::int64_t n = 0; n < 8; ++n) {
      double sum = 0, largest = 0;
      for (std::int64_t k = 0; k < data.num_classes; ++k) {
        const double share = labels.at(n * data.num_classes + k);
        sum += share;
        largest = std::max(largest, share);
      }
      EXPECT_NEAR(sum, 1, 1e-6);
      mixed += largest < 0.999;
    }
  }
  return mixed;
}

TEST(MixedBatches, HaveSharesOfClassesForLabels) {
  for (const bool pre_proc : {true, false}) {
    for (const auto& [mixup, cutmix] : {std::pair{0.4, 0.0}, {0.0, 1.0}, {0.4, 1.0}}) {
      Recipe r = recipe("labels", mixup, cutmix);
      r.enable_data_pre_proc = pre_proc;
      EXPECT_GT(mixed_rows(r), 8) << mixup << ", " << cutmix;
    }
  }
}

TEST(MixedBatches, ARunGoesOnWithTheSameBits) {
  const TrainingResult whole = train(recipe("whole", 0.4, 1));
  EXPECT_TRUE(std::isfinite(whole.last.loss));
  fs::create_directories(root() + "/cut");
  fs::copy_file(root() + "/whole/model.ckpt-4.safetensors", root() + "/cut/model.ckpt-4.safetensors");
  EXPECT_EQ(read_file(train(recipe("cut", 0.4, 1)).checkpoint_path), read_file(whole.checkpoint_path));
  EXPECT_NE(error_of([] { train(recipe("cut", 0.2, 1)); }).find("--mixup is 0.4 there and 0.2 here"),
            std::string::npos);
  // Also in data workers, the flip comes after the mixing of pixels.
  Recipe workers = recipe("workers", 0.4, 1);
  workers.enable_data_pre_proc = false;
  EXPECT_TRUE(std::isfinite(train(workers).last.loss));
}

TEST(MixedBatches, RandomPixelsAreNotMixed) {
  Recipe r = recipe("synthetic", 0.4, 0);
  r.synthetic = true;
  r.data_dir.clear();
  EXPECT_EQ(error_of([&] { train(r); }),
            "--mixup and --cutmix mix images of --data_dir: random pixels have nothing to mix");
}

}  // namespace
}  // namespace ridgeline::train
