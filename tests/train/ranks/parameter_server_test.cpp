// Training with parameter servers: workers with batches of B are equivalent to one rank with all batches, and have the
// bits of ranks that exchange gradients.
#include <gtest/gtest.h>

#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/nn/functional.h"
#include "ridgeline/optim/adam.h"
#include "ridgeline/optim/lars.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/comm/ranks.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/distance.h"
#include "tests/train/small_run.h"
#include "tests/train/small_training.h"

namespace ridgeline::train {
namespace {

using namespace small;

Trained train_served(int workers, int servers, Options options) {
  options.servers = servers;
  return train_over(workers + servers, options);
}

// Of the values of a checkpoint.
void expect_same_files(const Trained& some, const Trained& other) {
  ASSERT_EQ(some.file.size(), other.file.size());
  for (const auto& [name, value] : some.file)
    EXPECT_EQ(std::memcmp(value.raw(), other.file.at(name).raw(), value.byte_size()), 0) << name;
  EXPECT_EQ(some.losses, other.losses);
}

void expect_close_files(const Trained& some, const Trained& other, double tolerance) {
  ASSERT_EQ(some.file.size(), other.file.size());
  for (const auto& [name, value] : some.file) {
    const double allowed = name.ends_with("/momentum") ? 10 * tolerance : tolerance;
    EXPECT_LE(distance(value, other.file.at(name)), allowed) << name;
  }
  ASSERT_EQ(some.losses.size(), other.losses.size());
  for (std::size_t i = 0; i < some.losses.size(); ++i) EXPECT_NEAR(some.losses[i], other.losses[i], 1e-5) << i;
}

TEST(ParameterServer, WorkersTrainAsOneRankWithAllTheirBatches) {
  const Trained one = train_small(nullptr, {});
  EXPECT_GT(distance(one.values.at("conv1.weight"), train_small(nullptr, {.steps = 1}).values.at("conv1.weight")),
            0.01);
  for (const int servers : {1, 2}) {
    for (const int workers : {1, 2, 4}) {
      SCOPED_TRACE(std::to_string(workers) + " workers, " + std::to_string(servers) + " servers");
      expect_close_files(train_served(workers, servers, {}), one, 1e-5);
    }
  }
}

TEST(ParameterServer, TheBitsAreThoseOfRanksThatExchangeGradients) {
  for (const int workers : {2, 3, 4}) {
    SCOPED_TRACE(workers);
    const Trained exchanged = train_over(workers, {.steps = 5});
    expect_same_files(train_served(workers, 1, {.steps = 5}), exchanged);
    expect_same_files(train_served(workers, 2, {.overlap = false, .steps = 5}), exchanged);
    expect_same_files(train_served(workers, 2, {.split = SplitStrategy::by_sizes({25, 25, 25, 25}), .steps = 5}),
                      exchanged);
  }
}

TEST(ParameterServer, AServerOfAnotherModelIsToldSo) {
  const std::vector<std::string> ends = comm::run_ranks(2, [](comm::Communicator& all) {
    Recipe recipe = small_run(testing::temporary_directory() + "/other_model", 2, 2);
    if (all.rank() == 1) recipe.model = "linear";
    train(recipe, with_servers({&all, [](comm::Communicator*) {}}, 1));
  });
  for (const std::string& end : ends) {
    EXPECT_NE(end.find("has --model=linear, "), std::string::npos) << end;
    EXPECT_NE(end.find(" --model=resnet20: all processes of a run need the same settings"), std::string::npos) << end;
  }
}

TEST(ParameterServer, SlotsAreOnServersAlone) {
  for (const optim::Optimizer& optimizer : {optim::Optimizer(optim::Momentum{.momentum = 0.9}),
                                            optim::Optimizer(optim::Adam{}), optim::Optimizer(optim::Lamb{})}) {
    const Trained exchanged = train_over(2, {.steps = 5, .optimizer = optimizer});
    std::vector<Trained> all(4);
    const Options options{.steps = 5, .servers = 2, .optimizer = optimizer};
    comm::expect_ranks(4, [&](comm::Communicator& ranks) {
      all[static_cast<std::size_t>(ranks.rank())] = train_small(&ranks, options);
    });
    for (const Trained& rank : all) expect_same_files(rank, exchanged);
    for (const auto& [name, value] : exchanged.file) {
      const bool slot = name.find('/') != std::string::npos, counter = value.shape().rank() == 0;
      const auto has = [&](std::size_t rank) { return all[rank].bytes.contains(name); };
      EXPECT_EQ(has(0), !slot || counter) << name;
      EXPECT_EQ(has(1), has(0)) << name;
      EXPECT_EQ(has(2) == has(3), counter) << name;  // one of the servers
    }
  }
}

TEST(ParameterServer, OfParametersThatWorkersKeepGradientsAreExchanged) {
  const Trained exchanged = train_over(2, {.norm = true, .steps = 5});
  const Options some{.norm = true, .steps = 5, .server_parameters = {"fc*", "conv1.weight"}};
  expect_same_files(train_served(2, 2, some), exchanged);
  const Trained one = train_small(nullptr, {.steps = 5});
  expect_close_files(train_served(1, 2, {.steps = 5, .server_parameters = {"fc*"}}), one, 1e-5);
}

TEST(ParameterServer, StatisticsOverTheWorkersAreThoseOfOneRank) {
  const Trained one = train_small(nullptr, {.norm = true});
  expect_close_files(train_served(2, 1, {.norm = true, .synchronised = true}), one, 1e-4);
}

TEST(ParameterServer, InPartsAnyNumberOfWorkersAndServersGivesTheSameBits) {
  Options options{.accumulate = 2, .steps = 4, .parts = 4, .keep = 0.6};
  const Trained one = train_small(nullptr, options);
  for (const int workers : {1, 2, 4}) {
    SCOPED_TRACE(workers);
    expect_same_files(train_served(workers, 1, options), one);
    expect_same_files(train_served(workers, 2, options), one);
  }
}

TEST(ParameterServer, GradientsAreClippedByTheNormOfAll) {
  const Trained one = train_small(nullptr, {.clip_norm = 0.05});
  for (const int servers : {1, 2}) expect_close_files(train_served(2, servers, {.clip_norm = 0.05}), one, 1e-5);
  expect_close_files(train_served(2, 1, {.clip_norm = 0.05, .server_parameters = {"fc1*"}}), one, 1e-5);
}

TEST(ParameterServer, AnOverflowOfOneWorkerSkipsTheStepOnAll) {
  const Options scaled{.loss_scale = optim::LossScale::dynamic(1024, 2, 50), .overflow_at = 4};
  const Trained one = train_small(nullptr, scaled);
  for (const int servers : {1, 2}) {
    const Trained served = train_served(2, servers, scaled);
    EXPECT_EQ(served.file.at("loss_scale").at(0), 512);
    EXPECT_EQ(served.file.at(nn::kGlobalStep).data<std::int64_t>()[0], kSteps);
    for (const auto& [name, value] : served.file) EXPECT_LE(distance(value, one.file.at(name)), 1e-5) << name;
  }
}

TEST(ParameterServer, SeveralBatchesOfAStepArePushedOnce) {
  const Trained one = train_small(nullptr, {.accumulate = 3});
  const Trained served = train_served(2, 1, {.accumulate = 3});
  expect_close_files(served, one, 1e-5);
  const Trained each = train_served(2, 1, {.steps = 3 * kSteps});
  EXPECT_LT(static_cast<double>(served.traffic.bytes), 0.4 * static_cast<double>(each.traffic.bytes));
}

TEST(ParameterServer, SixteenBitStepsHaveTheBitsOfExchangedOnes) {
  const Options options{.steps = 5, .precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"))};
  expect_same_files(train_served(2, 2, options), train_over(2, options));
}

TEST(ParameterServer, OptimizersThatReadNormsHaveThemOnTheServer) {
  const Options options{.steps = 5, .optimizer = optim::Lars{}};
  expect_close_files(train_served(2, 2, options), train_over(2, options), 1e-5);
}

TEST(ParameterServer, MoreServersThanParametersAreTooMany) {
  const Options options{.servers = 2, .server_parameters = {"fc2.bias"}};
  for (const std::string& end : comm::run_ranks(3, [&](comm::Communicator& ranks) { train_small(&ranks, options); }))
    EXPECT_EQ(end, "[parameter_server] 2 servers for 1 parameters (allowed: as many servers as parameters, or fewer)");
}

TEST(ParameterServer, APatternWithoutParametersIsNamed) {
  const Options options{.servers = 1, .server_parameters = {"embedding*"}};
  for (const std::string& end : comm::run_ranks(2, [&](comm::Communicator& ranks) { train_small(&ranks, options); }))
    EXPECT_EQ(end.rfind("server_parameters 'embedding*' matches no parameter that is trained (such as ", 0), 0u) << end;
}

// ---- runs of train()

std::string fresh_folder() {
  static int number = 0;
  const std::string path = testing::temporary_directory() + "/served_" + std::to_string(number++);
  std::filesystem::create_directories(path);
  return path;
}

std::vector<std::string> run_served(int workers, int servers, const Recipe& recipe) {
  return comm::run_ranks(workers + servers, [&](comm::Communicator& own) {
    Recipe of_rank = recipe;
    of_rank.intra_op_parallelism_threads = 1;
    train(of_rank, with_servers({&own, [](comm::Communicator*) {}}, servers));
  });
}

TEST(ParameterServer, ACheckpointGoesOnUnderAnyMode) {
  const std::string folder = fresh_folder();
  Recipe recipe = small_run(folder, 2, 2);
  EXPECT_EQ(run_served(2, 1, recipe), std::vector<std::string>(3));
  const auto saved = load_newest(folder, [](const std::string& text) { ADD_FAILURE() << text; });
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->info.step, 2);
  EXPECT_EQ(saved->tensors.tensor("linear.weight/momentum").shape(), saved->tensors.tensor("linear.weight").shape());
  Recipe alone = small_run(folder, 4, 2);
  alone.batch_size = 2 * recipe.batch_size;
  EXPECT_EQ(train(alone).step, 4);
  recipe.max_train_steps = 6;
  EXPECT_EQ(run_served(2, 2, recipe), std::vector<std::string>(4));
  EXPECT_EQ(load_newest(folder, [](const std::string&) {})->info.step, 6);
}

// Servers have the parameters and their averages, workers the images.
TEST(ParameterServer, AnEvaluationIsThatOfRanksThatExchangeGradients) {
  const std::string data = fresh_folder() + "/shapes";
  data::make_shapes(data, {.train = 32, .val = 13});
  const auto evaluated = [&](int workers, int servers, double ema) {
    Recipe recipe = small_run(fresh_folder(), 4, 4);
    recipe.synthetic = false;
    recipe.mode = Mode::train_and_evaluate;
    recipe.data_dir = data;
    recipe.image_size = 32;
    recipe.lr = 0.01;
    recipe.intra_op_parallelism_threads = 1;
    recipe.optimization.ema = ema;
    std::vector<std::optional<EvaluationRow>> rows(static_cast<std::size_t>(workers + servers));
    comm::expect_ranks(workers + servers, [&](comm::Communicator& own) {
      Recipe of_rank = recipe;
      rows[static_cast<std::size_t>(own.rank())] =
          train(of_rank, with_servers({&own, [](comm::Communicator*) {}}, servers)).evaluation;
    });
    for (const auto& row : rows) EXPECT_EQ(row.value().loss, rows[0].value().loss);
    return rows[0].value();
  };
  for (const double ema : {0.0, 0.5}) {
    SCOPED_TRACE(ema);
    const EvaluationRow exchanged = evaluated(2, 0, ema), served = evaluated(2, 2, ema);
    EXPECT_EQ(served.rows, 13);
    EXPECT_EQ(served.loss, exchanged.loss);
    EXPECT_EQ(served.top_5, exchanged.top_5);
  }
  EXPECT_NE(evaluated(2, 0, 0).loss, evaluated(2, 0, 0.5).loss) << "averages are of no effect: no yardstick";
}

TEST(ParameterServer, WhatNoRankCanDoIsRefusedByItsFlag) {
  const auto refusal = [&](auto change) {
    Recipe wrong = small_run(fresh_folder(), 2, 2);
    change(wrong);
    return run_served(1, 1, wrong).front();
  };
  const auto begins = [](const std::string& text, const std::string& with) {
    EXPECT_EQ(text.rfind(with, 0), 0u) << text;
  };
  begins(refusal([](Recipe& r) { r.parallel.mode = "hybrid_parallel"; }),
         "--parallel_mode=hybrid_parallel with parameter servers: ");
  begins(refusal([](Recipe& r) { r.parallel.pipeline_stages = 2; }), "--pipeline_stages=2 with parameter servers: ");
  begins(refusal([](Recipe& r) { r.is_weight_update_sharding = true; }),
         "--is_weight_update_sharding with parameter servers: ");
  begins(refusal([](Recipe& r) { r.export_step = "step.rdg"; }), "--export_step with parameter servers: ");
  begins(error_of([&] {
           Recipe alone = small_run(fresh_folder(), 2, 2);
           alone.parallel.server_parameters = {"*"};
           train(alone);
         }),
         "--server_parameters with no parameter servers: ");
}

}  // namespace
}  // namespace ridgeline::train
