// The shapes data set is not trivial: a linear classifier of its pixels is far less accurate than AlexNet.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

TEST(LinearClassifier, StaysUnderSixtyPercentOnTheShapes) {
  const std::string directory = testing::temporary_directory();
  data::make_shapes(directory + "/shapes", {.train = 3000, .val = 500});
  Recipe recipe;
  recipe.model = "linear";
  recipe.data_dir = directory + "/shapes";
  recipe.image_size = 64;
  recipe.batch_size = 64;
  recipe.max_epochs = 4;
  recipe.warmup_epochs = 1;
  recipe.lr = 0.001;
  recipe.min_area = 0.8;
  recipe.label_smoothing = 0;
  recipe.do_checkpoint = false;
  recipe.log_dir = directory + "/log";
  const TrainingResult result = train(recipe);
  ASSERT_TRUE(result.evaluation.has_value());
  EXPECT_EQ(result.evaluation->rows, 500);
  EXPECT_LT(result.evaluation->top_1, 0.60);
  EXPECT_GT(result.evaluation->top_1, 0.11) << "it has learned nothing: no yardstick";
}

}  // namespace
}  // namespace ridgeline::train
