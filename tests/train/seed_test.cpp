// Model::set_seed(): one call determines initial parameters, dropout and the data order.
#include <gtest/gtest.h>

#include "ridgeline/train/estimator.h"
#include "tests/support/error_of.h"
#include "tests/train/shuffled_points.h"

namespace ridgeline::train {
namespace {

// The data of each step.
class Seen : public Callback {
 public:
  std::int64_t next_stop(std::int64_t step) const override { return step + 1; }
  void step_end(RunContext& run) override {
    losses.push_back(run.loss());
    first.push_back(run.feed().input("x").at(0));
  }
  std::vector<double> losses, first;
};

Seen trained(std::optional<std::uint64_t> seed, const data::Dataset& dataset, double rate = 0.01) {
  Session session({.compute_threads = 1});
  Model model(session, dropping_network());
  if (seed) model.set_seed(*seed);
  model.prepare_training({.schedule = optim::Constant{.base = rate}});
  Seen seen;
  train_epochs(model, 2, dataset, {&seen});
  return seen;
}

TEST(SetSeed, FixesAllThatIsRandom) {
  const Seen a = trained(7, shuffled_points()), b = trained(7, shuffled_points()), c = trained(8, shuffled_points());
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.first, b.first);
  EXPECT_NE(a.first, c.first);  // order of the data
  EXPECT_NE(a.losses, c.losses);
}

TEST(SetSeed, ReachesWeightsAndDropoutAndLeavesDataWithASeedOfTheirOwn) {
  const data::Dataset own = shuffled_points().with_seed(5);
  const Seen a = trained(7, own, 0), b = trained(8, own, 0);
  EXPECT_EQ(a.first, b.first);
  EXPECT_NE(a.losses[0], b.losses[0]);
  // The same points again: with rate 0 the weights do not change, so only dropout can differ.
  Tensor x(DType::f32, Shape{LineModel::kRows, 1}), y(DType::f32, Shape{LineModel::kRows, 1});
  for (float& v : x.span<float>()) v = 1;
  for (float& v : y.span<float>()) v = 3;
  const Seen same = trained(7, data::InMemory({{"x", x}, {"y", y}}).batch(LineModel::kRows), 0);
  EXPECT_NE(same.losses[0], same.losses[1]);
}

TEST(SetSeed, ComesBeforeTheParametersAreDrawn) {
  LineModel line;
  EXPECT_EQ(error_of([&] { line.model.set_seed(1); }),
            "set_seed() comes before the model's parameters are drawn: before prepare_training()");
}

}  // namespace
}  // namespace ridgeline::train
