// Split updates once overwrote gradients: an updated part of 1 MiB was laid over a bucket of exchanged gradients, and a
// clipped or unscaled gradient, which is needed for longer, over its place in the same bucket. Buckets and parts of
// this network are larger than that.
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
  // The dense layer's weights are 4.6 MB: a fourth of them is more than 1 MiB.
  const Case cases[] = {{"clipped", {.clip_norm = 1, .steps = 5, .width = 48'001}},
                        {"scaled", {.loss_scale = scale, .steps = 5, .width = 48'001}},
                        {"both", {.clip_norm = 1, .loss_scale = scale, .steps = 5, .width = 48'001}}};
  for (const auto& [name, options] : cases) {
    for (const int n : {2, 4}) {
      SCOPED_TRACE(std::string(name) + " on " + std::to_string(n) + " ranks");
      Options split = options;
      split.shard = true;
      const Trained whole = train_over(n, options), parts = train_over(n, split);
      if (options.clip_norm == 0) {
        expect_same(parts, whole);
        continue;
      }
      // A norm is added up in the order of a layout.
      for (std::size_t i = 0; i < whole.losses.size(); ++i) EXPECT_NEAR(parts.losses[i], whole.losses[i], 1e-6) << i;
      for (const auto& [tensor, value] : parts.file) EXPECT_LE(distance(value, whole.file.at(tensor)), 1e-5) << tensor;
    }
  }
}

}  // namespace
}  // namespace ridgeline::train
