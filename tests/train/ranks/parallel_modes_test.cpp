// Parallel modes and pipelines: ranks that divide a model train like one rank with the whole model.
#include <gtest/gtest.h>

#include <cmath>

#include "ridgeline/nn/functional.h"
#include "ridgeline/nn/layers.h"
#include "ridgeline/train/loop/loop.h"
#include "ridgeline/train/ranks/ranks.h"
#include "tests/comm/ranks.h"
#include "tests/train/distance.h"
#include "tests/train/recorded_losses.h"

namespace ridgeline::train::modes {
namespace {

constexpr std::int64_t kModeImages = 16, kModeSide = 10, kModeClasses = 8, kModeSteps = 8;

// Two convolutions, two large dense layers, optionally with dropout, and a classifier.
nn::Network small_network(std::int64_t batch, double keep) {
  return {.name = "small", .loss = [=](nn::ModelContext& context) {
            GraphBuilder& builder = context.builder;
            Value x = builder.input("x", {DType::f32, {batch, kModeSide, kModeSide, 3}});
            const Value labels = builder.input("labels", {DType::i32, {batch}});
            x = nn::conv_layer(context, x, {.name = "conv1", .out = 8, .pad = 1, .activation = nn::Activation::relu});
            x = nn::max_pool(x, {});
            x = nn::conv_layer(context, x, {.name = "conv2", .out = 12, .pad = 1, .activation = nn::Activation::relu});
            x = nn::flatten(nn::max_pool(x, {}), nn::FlattenOrder::hwc);
            x = nn::dense_layer(context, x, {.name = "fc1", .out = 32, .activation = nn::Activation::relu});
            x = nn::dropout_layer(context, x, "drop", keep);
            x = nn::dense_layer(context, x, {.name = "fc2", .out = 24, .activation = nn::Activation::relu});
            x = nn::dense_layer(context, x, {.name = "fc3", .out = kModeClasses});
            return nn::mean(nn::softmax_cross_entropy(x, labels, {}, 0.1).loss);
          }};
}

struct Options {
  ParallelMode mode = ParallelMode::data_parallel;
  std::vector<Annotation> shards = {}, stages = {};
  std::int64_t micro_batches = 1;  // more than 1: a pipeline
  PipelineOrder order = PipelineOrder::gpipe;
  double keep = 1, clip_norm = 0, average = 0;
  RankRates rates = {};
  std::string device = "cpu";
  std::int64_t steps = kModeSteps;
  std::optional<optim::LossScale> loss_scale = {};
};

struct Trained {
  std::map<std::string, Tensor> values;
  std::vector<double> losses;
  std::string plan, checksum;
  std::size_t stored_bytes = 0;
};

float pixel(std::int64_t run, std::int64_t image, std::int64_t at) {
  return static_cast<float>(std::sin(0.37 * static_cast<double>(at % 97) + 1.3 * static_cast<double>(image) +
                                     0.7 * static_cast<double>(run * (at % 5 + 1))));
}

SessionOptions options_of(comm::Communicator* ranks, const std::string& device) {
  SessionOptions options{.compute_threads = 1, .device = device};
  if (ranks) options.groups[kWorld] = std::shared_ptr<comm::Communicator>(ranks, [](comm::Communicator*) {});
  return options;
}

// Trains from `start` if given, else from random values.
Trained train_small(comm::Communicator* ranks, const Options& options, const Trained* start = nullptr) {
  const std::int64_t n = ranks ? ranks->size() : 1, rank = ranks ? ranks->rank() : 0;
  const bool pipelined = options.micro_batches > 1;
  const std::int64_t sharing = pipelined ? 1 : n;  // ranks with different images
  const std::int64_t batch = kModeImages / sharing;
  Session session(options_of(ranks, options.device));
  ModelSettings settings{.seed = 3, .shards = options.shards, .stages = options.stages};
  settings.distribution = {.ranks = n, .rank = rank, .mode = options.mode, .rates = options.rates};
  if (pipelined && n > 1) settings.distribution.pipeline = {n, options.micro_batches, options.order};
  Model model(session, small_network(pipelined && n > 1 ? batch / options.micro_batches : batch, options.keep),
              settings);
  nn::TrainingOptions training{
      .optimizer = optim::Momentum{.momentum = 0.9}, .schedule = optim::Constant{.base = 0.05}, .weight_decay = 1e-3};
  training.gradients.clip_norm = options.clip_norm;
  training.gradients.loss_scale = options.loss_scale;
  training.average = options.average;
  model.prepare_training(training);
  Trained trained;
  if (start != nullptr && rank == 0) {
    std::vector<NamedTensor> tensors;
    for (const auto& [name, value] : start->values) {
      if (name.find('/') == std::string::npos && name != nn::kGlobalStep) tensors.push_back({name, value});
    }
    model.load_weights(tensors, {.where = "start"});
  }
  trained.checksum = model.share();
  trained.plan = model.parallel_plan();
  Tensor x(DType::f32, {batch, kModeSide, kModeSide, 3}), labels(DType::i32, {batch});
  std::int64_t run = 0;
  FunctionFeed feed([&](Program& program) {
    const std::int64_t pixels = kModeSide * kModeSide * 3;
    for (std::int64_t i = 0; i < batch; ++i) {
      const std::int64_t image = pipelined ? i : i * n + rank;
      for (std::int64_t at = 0; at < pixels; ++at) x.data<float>()[i * pixels + at] = pixel(run, image, at);
      labels.data<std::int32_t>()[i] = static_cast<std::int32_t>((image * 7 + run) % kModeClasses);
    }
    ++run;
    program.bind("x", x);
    program.bind("labels", labels);
    return true;
  });
  RecordedLosses losses;
  Loop(model, feed, {.total_steps = options.steps, .steps_per_epoch = 1000, .loop = 1}).run({&losses});
  trained.losses = losses.all;
  for (const NamedTensor& t : model.to_file()) trained.values[t.name] = t.tensor;
  for (const std::string& name : session.parameters().names())
    trained.stored_bytes += session.parameters().entry(name).type.bytes();
  return trained;
}

void expect_close(const Trained& some, const Trained& other) {
  ASSERT_EQ(some.values.size(), other.values.size());
  for (const auto& [name, value] : some.values) {
    const double allowed = name.ends_with("/momentum") ? 1e-4 : 1e-5;
    EXPECT_LE(distance(value, other.values.at(name)), allowed) << name;
  }
  ASSERT_EQ(some.losses.size(), other.losses.size());
  for (std::size_t i = 0; i < some.losses.size(); ++i) EXPECT_NEAR(some.losses[i], other.losses[i], 1e-5) << i;
}

// All ranks end with the same values.
Trained train_over(int n, const Options& options, const Trained* start = nullptr) {
  std::vector<Trained> all(static_cast<std::size_t>(n));
  comm::expect_ranks(n, [&](comm::Communicator& ranks) {
    all[static_cast<std::size_t>(ranks.rank())] = train_small(&ranks, options, start);
  });
  for (const Trained& rank : all) {
    EXPECT_EQ(rank.losses, all[0].losses);
    EXPECT_EQ(rank.checksum, all[0].checksum);
    for (const auto& [name, value] : rank.values)
      EXPECT_EQ(std::memcmp(value.raw(), all[0].values.at(name).raw(), value.byte_size()), 0) << name;
  }
  return std::move(all[0]);
}

Annotation layer(const char* name, const char* how) { return {name, std::string(how)}; }
Annotation stage(const char* name, std::int64_t number) { return {name, number}; }

TEST(ParallelModes, HybridTrainsAsOneRankWithAPartOfTheDenseLayersOnEach) {
  const Trained one = train_small(nullptr, {});
  EXPECT_GT(distance(one.values.at("fc1.weight"), train_small(nullptr, {.steps = 1}).values.at("fc1.weight")), 0.01);
  const Trained whole = train_over(2, {});
  for (const int n : {2, 4}) {
    SCOPED_TRACE(n);
    const Trained divided = train_over(n, {.mode = ParallelMode::hybrid_parallel});
    expect_close(divided, one);
    EXPECT_NE(divided.plan.find("fc1/dense columns, fc2/dense rows, fc3/dense columns"), std::string::npos)
        << divided.plan;
    EXPECT_EQ(divided.checksum, whole.checksum);
    EXPECT_LT(static_cast<double>(divided.stored_bytes), 0.75 * static_cast<double>(whole.stored_bytes));
  }
}

TEST(ParallelModes, SemiAutoDividesTheLayersThatAreNamed) {
  const Trained one = train_small(nullptr, {});
  expect_close(train_over(2, {.mode = ParallelMode::semi_auto_parallel, .shards = {layer("fc1", "columns")}}), one);
  expect_close(train_over(4, {.mode = ParallelMode::semi_auto_parallel, .shards = {layer("fc2", "rows")}}), one);
  expect_close(train_over(2, {.mode = ParallelMode::semi_auto_parallel,
                              .shards = {layer("fc1", "rows"), layer("fc2", "columns"), layer("fc3", "columns")}}),
               one);
}

TEST(ParallelModes, DropoutBetweenPartsDrawsTheMasksOfOneRank) {
  const Trained one = train_small(nullptr, {.keep = 0.5});
  expect_close(train_over(2, {.mode = ParallelMode::hybrid_parallel, .keep = 0.5}), one);
  expect_close(train_over(4, {.mode = ParallelMode::hybrid_parallel, .keep = 0.5}), one);
}

TEST(ParallelModes, GradientsAreClippedByTheNormOfAllPartsAndAveragesAreParts) {
  const Options given{.clip_norm = 0.05, .average = 0.9};
  Options hybrid = given;
  hybrid.mode = ParallelMode::hybrid_parallel;
  expect_close(train_over(2, hybrid), train_small(nullptr, given));
}

TEST(ParallelModes, TheSimulatedDeviceDividesLikewise) {
  const Options hybrid{.mode = ParallelMode::hybrid_parallel, .device = "simulated", .steps = 2};
  expect_close(train_over(2, hybrid), train_small(nullptr, {.steps = 2}));
}

TEST(ParallelModes, AutoDividesWhatIsCheaperToExchangeByItsRowsThanByItsGradients) {
  const Trained one = train_small(nullptr, {});
  // Messages cost almost nothing, so the layer with many weights is divided.
  const RankRates fast{.flops = 1e9, .memory_bytes = 1e9, .exchange_bytes = 1e6};
  const Trained divided = train_over(2, {.mode = ParallelMode::auto_parallel, .rates = fast});
  expect_close(divided, one);
  EXPECT_NE(divided.plan.find("estimated"), std::string::npos) << divided.plan;
  // Each message costs a second, so nothing is divided, since that needs more messages.
  RankRates slow = fast;
  slow.call_seconds = 1;
  const Trained together = train_over(2, {.mode = ParallelMode::auto_parallel, .rates = slow});
  EXPECT_NE(together.plan.find("fc1/dense data, fc2/dense data, fc3/dense data"), std::string::npos) << together.plan;
}

TEST(ParallelModes, ValuesThatOneRankLoadedReachTheOthersInParts) {
  const Trained one = train_small(nullptr, {.steps = 3});
  const Trained on = train_small(nullptr, {.steps = 2}, &one);
  expect_close(train_over(2, {.mode = ParallelMode::hybrid_parallel, .steps = 2}, &one), on);
  expect_close(train_over(2, {.micro_batches = 2, .steps = 2}, &one), on);
}

std::string refusal(const Options& options) {
  const std::vector<std::string> ends =
      comm::run_ranks(2, [&](comm::Communicator& ranks) { train_small(&ranks, options); });
  EXPECT_EQ(ends[0], ends[1]);
  return ends[0];
}

TEST(ParallelModes, WhatCannotBeDividedIsRefusedByName) {
  const ParallelMode semi = ParallelMode::semi_auto_parallel;
  EXPECT_NE(refusal({.mode = semi, .shards = {layer("conv1", "columns")}}).find("conv1/conv2d (conv2d)"),
            std::string::npos);
  EXPECT_NE(refusal({.mode = semi, .shards = {layer("fc1", "both")}}).find("(allowed: data, columns, rows)"),
            std::string::npos);
  EXPECT_NE(refusal({.mode = semi, .shards = {layer("fc9", "rows")}}).find("has no layer 'fc9'"), std::string::npos);
  EXPECT_NE(refusal({.shards = {layer("fc1", "rows")}}).find("parallel_mode is data_parallel"), std::string::npos);
  EXPECT_NE(refusal({.mode = ParallelMode::auto_parallel}).find("needs the rates"), std::string::npos);
}

TEST(Pipeline, StagesTrainAsOneRankInBothOrders) {
  const Trained one = train_small(nullptr, {});
  for (const int n : {2, 4}) {
    SCOPED_TRACE(n);
    const Trained gpipe = train_over(n, {.micro_batches = 4});
    expect_close(gpipe, one);
    const Trained in_turn = train_over(n, {.micro_batches = 4, .order = PipelineOrder::one_f_one_b});
    for (const auto& [name, value] : in_turn.values)  // the same sums
      EXPECT_EQ(std::memcmp(value.raw(), gpipe.values.at(name).raw(), value.byte_size()), 0) << name;
  }
}

TEST(Pipeline, StagesByAnnotation) {
  const Trained one = train_small(nullptr, {});
  const Options two{.stages = {stage("fc1", 1)}, .micro_batches = 2, .order = PipelineOrder::one_f_one_b};
  expect_close(train_over(2, two), one);
}

TEST(Pipeline, GradientsAreClippedByTheNormOverAllStages) {
  expect_close(train_over(2, {.micro_batches = 2, .clip_norm = 0.05}), train_small(nullptr, {.clip_norm = 0.05}));
}

// The stage of the loss reads the loss scale, and the gradients of all stages are divided by it.
TEST(Pipeline, ScaledLossesAndAveragesAreThoseOfOneRank) {
  const Options scaled{.average = 0.9, .loss_scale = optim::LossScale::dynamic(1024, 2, 3)};
  const Trained one = train_small(nullptr, scaled);
  EXPECT_NE(one.values.at("loss_scale").at(0), 1024);
  for (const int n : {2, 4}) {
    Options staged = scaled;
    staged.micro_batches = 4;
    const Trained stages = train_over(n, staged);
    expect_close(stages, one);
    EXPECT_EQ(stages.values.at("loss_scale").at(0), one.values.at("loss_scale").at(0));
  }
}

// The number of the step, which keys the dropout masks of one stage, also determines the learning rates of all.
TEST(Pipeline, OneStageMayDropUnits) {
  Options options{.stages = {stage("fc1", 1)}, .micro_batches = 2, .keep = 0.5};
  const Trained gpipe = train_over(2, options);
  EXPECT_GT(std::abs(gpipe.losses.back() - train_over(2, {.micro_batches = 2}).losses.back()), 1e-6);
  options.order = PipelineOrder::one_f_one_b;
  EXPECT_EQ(train_over(2, options).losses, gpipe.losses);
}

TEST(Pipeline, WrongPlansAreRefused) {
  EXPECT_NE(refusal({.stages = {stage("conv1", 1), stage("fc1", 0)}, .micro_batches = 2}).find("reads what stage 1"),
            std::string::npos);
  EXPECT_NE(refusal({.stages = {stage("fc1", 2)}, .micro_batches = 2}).find("(allowed: 0 to 1)"), std::string::npos);
  EXPECT_NE(refusal({.stages = {stage("conv1", 0)}, .micro_batches = 2}).find("stage 1 of 2 has no ops"),
            std::string::npos);
  const std::vector<std::string> ends =
      comm::run_ranks(4, [&](comm::Communicator& ranks) { train_small(&ranks, {.micro_batches = 2}); });
  EXPECT_EQ(ends[0], "[pipeline] 2 micro-batches for 4 stages (allowed: as many as stages, or more)");
}

}  // namespace
}  // namespace ridgeline::train::modes
