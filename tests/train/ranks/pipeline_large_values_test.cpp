// Values from 1 MiB on between two stages need memory that all ranks must request together: a stage that was not
// involved did not do so.
#include <gtest/gtest.h>

#include <cmath>

#include "ridgeline/nn/functional.h"
#include "ridgeline/nn/layers.h"
#include "ridgeline/train/loop/loop.h"
#include "tests/comm/ranks.h"
#include "tests/train/recorded_losses.h"

namespace ridgeline::train {
namespace {

constexpr std::int64_t kStages = 3, kMicroBatchRows = 64, kInputs = 6, kWide = 4096, kStepsOfLargeValues = 2;
static_assert(kMicroBatchRows * kWide * 4 >= 1 << 20, "of one micro-batch, between the first two stages");

nn::Network wide_network(std::int64_t rows) {
  return {.name = "wide", .loss = [=](nn::ModelContext& context) {
            Value x = context.builder.input("x", {DType::f32, {rows, kInputs}});
            x = nn::dense_layer(context, x, {.name = "fc1", .out = kWide, .activation = nn::Activation::relu});
            x = nn::dense_layer(context, x, {.name = "fc2", .out = 8, .activation = nn::Activation::relu});
            x = nn::dense_layer(context, x, {.name = "fc3", .out = 4});
            return nn::mean(x * x);
          }};
}

std::vector<double> losses_of(comm::Communicator* ranks) {
  SessionOptions options{.compute_threads = 1};
  if (ranks) options.groups[kWorld] = std::shared_ptr<comm::Communicator>(ranks, [](comm::Communicator*) {});
  Session session(options);
  ModelSettings settings{.seed = 5};
  if (ranks) {
    settings.distribution = {.ranks = kStages, .rank = ranks->rank()};
    settings.distribution.pipeline = {kStages, kStages, PipelineOrder::one_f_one_b};
    settings.stages = {{"fc1", std::int64_t{0}}, {"fc2", std::int64_t{1}}, {"fc3", std::int64_t{2}}};
  }
  Model model(session, wide_network(ranks ? kMicroBatchRows : kMicroBatchRows * kStages), settings);
  model.prepare_training({.schedule = optim::Constant{.base = 0.01}});
  model.share();
  Tensor x(DType::f32, {kMicroBatchRows * kStages, kInputs});
  for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, std::sin(0.7 * static_cast<double>(i)));
  FunctionFeed feed([&](Program& program) {
    program.bind("x", x);
    return true;
  });
  RecordedLosses losses;
  Loop(model, feed, {.total_steps = kStepsOfLargeValues, .loop = 1}).run({&losses});
  return losses.all;
}

TEST(Pipeline, LargeValuesBetweenTwoStagesNeedNothingOfTheThird) {
  const std::vector<double> one = losses_of(nullptr);
  ASSERT_EQ(one.size(), 2u);
  comm::expect_ranks(kStages, [&](comm::Communicator& ranks) {
    const std::vector<double> losses = losses_of(&ranks);
    for (std::size_t i = 0; i < one.size(); ++i) {
      if (std::abs(losses.at(i) - one[i]) > 1e-5) throw Error("another loss");
    }
  });
}

}  // namespace
}  // namespace ridgeline::train
