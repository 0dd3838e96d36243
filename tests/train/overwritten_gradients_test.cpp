// Split updates once overwrote gradients: an updated part of 1 MiB was placed over a bucket of exchanged gradients, and
// a clipped or unscaled gradient, which lives longer, over its place in the same bucket. Buckets and parts of this
// network are larger than 1 MiB.
#include <gtest/gtest.h>

#include "tests/train/distance.h"
#include "tests/train/small_training.h"

namespace ridgeline::train {
namespace {

using namespace small;

struct Case {
  const char* name;
  Options options;
};

TEST(OverwrittenGradients, SplitUpdatesTrainAsWholeOnes) {
  const auto scale = optim::LossScale::fixed(64);
  // The weights of the dense layer are 4.6 MB: a quarter of them is more than 1 MiB.
  const Case cases[] = {{"clipped", {.clip_norm = 1, .steps = 5, .width = 48'001}},
                        {"scaled", {.loss_scale = scale, .steps = 5, .width = 48'001}},
                        {"both", {.clip_norm = 1, .loss_scale = scale, .steps = 5, .width = 48'001}}};
  for (const auto& [name, options] : cases) {
    for (const int n : {2, 4}) {
      SCOPED_TRACE(std::string(name) + " on " + std::to_string(n) + " ranks");
      Options split_updates = options;
      split_updates.shard = true;
      const Trained whole = train_over(n, options), split = train_over(n, split_updates);
      // Equal up to rounding: a norm is summed in the order of a layout, and split weights have another one.
      for (std::size_t i = 0; i < whole.losses.size(); ++i) EXPECT_NEAR(split.losses[i], whole.losses[i], 1e-5) << i;
      for (const auto& [tensor, value] : split.file) EXPECT_LE(distance(value, whole.file.at(tensor)), 1e-5) << tensor;
    }
  }
}

}  // namespace
}  // namespace ridgeline::train
