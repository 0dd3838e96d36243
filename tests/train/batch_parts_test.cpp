// The number of parts in which the batch of a recipe is computed.
#include "ridgeline/train/recipe/batch_parts.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace ridgeline::train {
namespace {

Recipe deterministic(const char* model) {
  Recipe recipe;
  recipe.model = model;
  recipe.data_dir = "pictures";
  recipe.batch_size = 64;
  recipe.reproducibility = "deterministic";
  return recipe;
}

TEST(BatchParts, FollowFromTheRowsOfAllRanks) {
  EXPECT_EQ(with_batch_parts(deterministic("alexnet")).parts, 4);
  Recipe recipe = deterministic("alexnet");
  recipe.ranks = 2;
  recipe.rank = 1;
  EXPECT_EQ(with_batch_parts(recipe).parts, 2);
  recipe.batch_parts = 8;
  EXPECT_EQ(with_batch_parts(recipe).parts, 4);
  recipe.batch_size = 5;
  EXPECT_NE(error_of([&] { with_batch_parts(recipe); }).find("--batch_parts=8 does not divide the 10 rows"),
            std::string::npos);
}

// With a row mask, statistics are made of other ops but remain those of a batch.
TEST(BatchParts, DoNotCutBatchNormsThatHaveStatisticsOfTheirOwn) {
  for (const data::BadSamplePolicy policy : {data::BadSamplePolicy::raise, data::BadSamplePolicy::skip}) {
    Recipe recipe = deterministic("resnet20");
    recipe.bad_samples.policy = policy;
    EXPECT_EQ(with_batch_parts(recipe).parts, 1);
    EXPECT_FALSE(with_batch_parts(recipe).ordered);
    recipe.batch_parts = 4;  // requested without success
    EXPECT_EQ(error_of([&] { with_batch_parts(recipe); }),
              "--batch_parts=4: resnet20 has batch norms, whose statistics would be those of a part (allowed: with "
              "--sync_batch_norm, or 0 or 1 without)");
    recipe.sync_batch_norm = true;
    EXPECT_EQ(with_batch_parts(recipe).parts, 4);
  }
}

}  // namespace
}  // namespace ridgeline::train
