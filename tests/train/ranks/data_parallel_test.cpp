// Data parallel training: N ranks with batches of B are equivalent to one rank with batches of N * B.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/optim/adam.h"
#include "ridgeline/train/loop/interrupt.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/distance.h"
#include "tests/train/small_training.h"

namespace ridgeline::train {
namespace {

using namespace small;

TEST(DataParallel, RanksTrainAsOneWithAllTheirBatches) {
  const Trained one = train_small(nullptr, {});
  EXPECT_GT(distance(one.values.at("conv1.weight"), train_small(nullptr, {.steps = 1}).values.at("conv1.weight")),
            0.01);
  for (const int n : {2, 4, 8}) {
    SCOPED_TRACE(n);
    expect_close(train_over(n, {}), one, 1e-5);
  }
}

TEST(DataParallel, WithSynchronisedStatisticsSoDoNetworksWithBatchNorm) {
  const Trained one = train_small(nullptr, {.norm = true});
  for (const int n : {2, 4}) {
    SCOPED_TRACE(n);
    expect_close(train_over(n, {.norm = true, .synchronised = true}), one, 1e-4);
  }
}

TEST(DataParallel, WithStatisticsOfItsOwnEveryRankKeepsTheirMeans) {
  const Trained one = train_small(nullptr, {.norm = true});
  const Trained two = train_over(2, {.norm = true});
  EXPECT_GT(distance(two.values.at("conv1.weight"), one.values.at("conv1.weight")), 1e-4);  // not the same training
  EXPECT_LT(std::abs(two.losses.back() - one.losses.back()), 0.1);
}

TEST(DataParallel, ExchangesBesideTheBackwardPassGiveTheBitsOfThoseBehindIt) {
  const Options in_four{.split = SplitStrategy::by_sizes({25, 25, 25, 25})};
  Options behind = in_four;
  behind.overlap = false;
  expect_same(train_over(2, in_four), train_over(2, behind));
  expect_same(train_over(2, in_four), train_over(2, {}));  // for any division
}

// A step on one, two and four ranks, and with a team of two threads: the same bits.
void expect_one_order(Options options) {
  options.parts = 4;
  options.steps = 6;
  const Trained one = train_small(nullptr, options);
  for (const int n : {2, 4}) {
    SCOPED_TRACE(n);
    expect_same(train_over(n, options), one);
  }
  options.threads = 2;
  expect_same(train_small(nullptr, options), one);
}

TEST(DataParallel, InPartsAnyNumberOfRanksGivesTheSameBits) { expect_one_order({}); }

TEST(DataParallel, InPartsSynchronisedStatisticsGiveTheSameBits) {
  expect_one_order({.norm = true, .synchronised = true});
}

TEST(DataParallel, InPartsDropoutDrawsTheSameMasks) { expect_one_order({.keep = 0.6}); }

TEST(DataParallel, InPartsSeveralBatchesOfAStepGiveTheSameBits) { expect_one_order({.accumulate = 3}); }

TEST(DataParallel, InPartsClippedAndScaledGradientsGiveTheSameBits) {
  expect_one_order({.clip_norm = 0.05, .loss_scale = optim::LossScale::dynamic(1024, 2, 50)});
}

TEST(DataParallel, InPartsSixteenBitStepsGiveTheSameBits) {
  expect_one_order({.norm = true,
                    .synchronised = true,
                    .precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"))});
}

TEST(DataParallel, InPartsIsTheSameTrainingAsWithout) {
  const Trained whole = train_small(nullptr, {.norm = true});
  expect_close(train_small(nullptr, {.norm = true, .synchronised = true, .parts = 4}), whole, 1e-4);
  expect_close(train_small(nullptr, {.parts = 4}), train_small(nullptr, {}), 1e-5);
}

TEST(DataParallel, EveryRankDropsOtherElements) {
  const Trained same = train_over(2, {.steps = 1});
  const Trained one = train_small(nullptr, {.steps = 1, .keep = 0.5}), two = train_over(2, {.steps = 1, .keep = 0.5});
  EXPECT_GT(std::abs(one.losses[0] - two.losses[0]), 1e-6);  // each rank has its own masks
  EXPECT_NE(two.losses[0], same.losses[0]);
}

// Splitting slots and updates over n ranks changes no bit. Returns both results.
std::pair<Trained, Trained> expect_split_as_whole(int n, Options options) {
  SCOPED_TRACE(n);
  Trained whole = train_over(n, options);
  options.shard = true;
  Trained split = train_over(n, options);
  EXPECT_EQ(split.file.size(), whole.file.size());
  for (const auto& [name, value] : split.file)
    EXPECT_EQ(std::memcmp(value.raw(), whole.file.at(name).raw(), value.byte_size()), 0) << name;
  EXPECT_EQ(split.losses, whole.losses);
  return {std::move(whole), std::move(split)};
}

TEST(DataParallel, SplitUpdatesGiveTheBitsOfWholeOnes) {
  const std::string slot = "conv2.weight/momentum";
  for (const int n : {2, 4}) {
    const auto [whole, split] =
        expect_split_as_whole(n, {.loss_scale = optim::LossScale::dynamic(1024, 2, 50), .steps = 5});
    for (const auto& [name, value] : split.file) EXPECT_EQ(value.shape(), whole.file.at(name).shape()) << name;
    EXPECT_EQ(split.bytes.at(slot), whole.bytes.at(slot) / static_cast<std::size_t>(n));
    EXPECT_EQ(split.bytes.at("conv1.weight/momentum"), whole.bytes.at("conv1.weight/momentum"));  // small: not split
  }
}

// Only the update reads the mean: a reduce_scatter and an all_gather send as much as an all_reduce.
TEST(DataParallel, SplitUpdatesScatterTheirGradientsWithTheSameBits) {
  for (const int n : {2, 3, 4}) {
    for (const bool overlap : {false, true}) {
      const auto [whole, split] =
          expect_split_as_whole(n, {.overlap = overlap, .split = SplitStrategy::by_sizes({60, 40}), .steps = 5});
      EXPECT_LT(static_cast<double>(split.traffic.bytes), 1.05 * static_cast<double>(whole.traffic.bytes));
    }
  }
}

// From 1 MiB on, gradients and updated parts are in shared memory, one in place of the other.
TEST(DataParallel, SplitUpdatesOfLargeParametersAreExchangedWhereTheyLie) {
  for (const bool overlap : {false, true}) {
    const Options options{
        .overlap = overlap, .split = SplitStrategy::by_sizes({30, 30, 40}), .steps = 4, .width = 12'001};
    for (const int n : {2, 3}) expect_split_as_whole(n, options);
  }
}

TEST(DataParallel, SplitUpdatesInPartsAndInSixteenBitsScatterWithTheSameBits) {
  Options options{.steps = 5, .parts = 4};
  options.precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"));
  for (const int n : {2, 4}) expect_split_as_whole(n, options);
}

TEST(DataParallel, SplitUpdatesOfClippedGradientsAreCloseToWholeOnes) {  // a norm is summed in the order of a layout
  Options options{.clip_norm = 0.05, .steps = 5};
  const Trained whole = train_over(2, options);
  options.shard = true;
  const Trained split = train_over(2, options);
  for (const auto& [name, value] : split.file) EXPECT_LE(distance(value, whole.file.at(name)), 1e-5) << name;
}

TEST(DataParallel, SplitUpdatesTakeOptimizersOfSeveralSlots) {
  const auto [whole, split] = expect_split_as_whole(3, {.steps = 5, .optimizer = optim::Adam{}});
  std::size_t shorter = 0;
  for (const auto& [name, bytes] : split.bytes) shorter += bytes < whole.bytes.at(name) ? 1 : 0;
  EXPECT_EQ(shorter, 2u);  // both moments of conv2.weight
}

TEST(DataParallel, FewerGradientsThanRanksCannotBeSplit) {
  const std::vector<std::string> ends = comm::run_ranks(2, [](comm::Communicator& ranks) {
    Session session(options_of(&ranks));
    const nn::Network network{.name = "one", .loss = [](nn::ModelContext& context) {
                                const Value x = context.builder.input("x", {DType::f32, {2, 4}});
                                const Value w = context.parameter("w", {3, 4}, Init{});
                                return nn::mean(nn::dense(x, w, {}));
                              }};
    Model(session, network, {.distribution = {.ranks = 2, .rank = ranks.rank(), .shard_updates = true}})
        .prepare_training({});
  });
  for (const std::string& end : ends) {
    EXPECT_NE(end.find("The number of gradients is less than rank_size, so weight_update_sharding cannot be executed"),
              std::string::npos)
        << end;
  }
}

// The times at which the spans of that category and name begin.
std::vector<double> begins_of(const std::string& trace, const std::string& category, const std::string& name) {
  std::vector<double> begins;
  const std::string head = "\"cat\":\"" + category + "\"", ts = "\"ts\":";
  for (std::size_t at = trace.find(head); at != std::string::npos; at = trace.find(head, at + 1)) {
    const std::string span = trace.substr(at, trace.find('}', at) - at);
    if (span.find("\"name\":\"" + name + "\"") == std::string::npos) continue;
    begins.push_back(std::atof(span.c_str() + span.find(ts) + ts.size()));
  }
  return begins;
}

TEST(DataParallel, ATraceShowsExchangesUnderTheBackwardPass) {
  Options options{.split = SplitStrategy::by_indices({1, 7}), .steps = 3};
  for (const bool overlap : {true, false}) {
    options.overlap = overlap;
    options.trace = testing::temporary_directory() + "/ranks_trace.json";
    train_over(2, options);
    const std::string trace = read_file(options.trace);
    EXPECT_NE(trace.find("exchanges between ranks"), std::string::npos);
    // The point at which the step starts the exchange; when the other thread begins depends on the machine.
    const std::vector<double> begun = begins_of(trace, "launch", "exchange"),
                              last = begins_of(trace, "launch", "conv1/conv2d/grad");
    EXPECT_EQ(begins_of(trace, "exchange", "exchange").size(), 3u) << trace;
    ASSERT_EQ(begun.size(), 3u) << trace;
    ASSERT_GE(last.size(), 3u) << trace;
    const std::size_t a_step = last.size() / 3;
    for (std::size_t step = 0; step < 3; ++step) EXPECT_EQ(begun[step] < last[a_step * step], overlap) << step;
  }
}

TEST(DataParallel, OnADeviceThatRunsBehindToo) {
  const Trained one = train_small(nullptr, {.steps = 2});
  expect_close(train_over(2, {.device = "simulated", .steps = 2}), one, 1e-5);
}

TEST(DataParallel, GradientsAreClippedByTheNormOfTheirMean) {
  const Trained one = train_small(nullptr, {.clip_norm = 0.05});
  EXPECT_GT(distance(one.values.at("fc2.weight"), train_small(nullptr, {}).values.at("fc2.weight")), 1e-2);
  expect_close(train_over(2, {.clip_norm = 0.05}), one, 1e-5);
}

// LAMB consists of plain ops, of which no operand is marked as the gradient. A small epsilon would amplify rounding.
TEST(DataParallel, UpdatesOfPlainOpsGoByTheMeanOfTheGradient) {
  const optim::Optimizer lamb = optim::Lamb{.epsilon = 1};
  const std::vector<Options> all{{.optimizer = lamb},
                                 {.clip_norm = 0.05, .optimizer = lamb},
                                 {.accumulate = 3, .steps = 3, .optimizer = lamb},
                                 {.loss_scale = optim::LossScale::dynamic(1024, 2, 50), .optimizer = lamb}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    const Trained one = train_small(nullptr, all[i]);
    for (const int n : {2, 4}) expect_close(train_over(n, all[i]), one, 1e-4);
  }
}

TEST(DataParallel, SeveralBatchesOfAStepAreExchangedOnce) {
  const Trained one = train_small(nullptr, {.accumulate = 3});
  const Trained two = train_over(2, {.accumulate = 3});
  expect_close(two, one, 1e-5);
  const Trained each = train_over(2, {.steps = 3 * kSteps});
  // A third of the gradient bytes is transferred; numbers of each run (the loss) are added.
  EXPECT_LT(static_cast<double>(two.traffic.bytes), 0.4 * static_cast<double>(each.traffic.bytes));
}

TEST(DataParallel, AnOverflowOnOneRankSkipsTheStepOnAll) {
  const Options scaled{.loss_scale = optim::LossScale::dynamic(1024, 2, 50), .overflow_at = 4};
  const Trained one = train_small(nullptr, scaled);
  const Trained two = train_over(2, scaled);
  EXPECT_EQ(two.values.at("loss_scale").at(0), one.values.at("loss_scale").at(0));
  EXPECT_EQ(two.values.at("loss_scale").at(0), 512);
  EXPECT_EQ(two.values.at(nn::kGlobalStep).data<std::int64_t>()[0], kSteps);
  for (const auto& [name, value] : two.values) EXPECT_LE(distance(value, one.values.at(name)), 1e-5) << name;
}

// One of two ranks that train repeatedly on the same batch; `run` gets the model and a feed that calls `before` before
// each batch: false ends it.
template <class Before, class Run>
void with_one_batch(comm::Communicator& ranks, const Before& before, const Run& run) {
  Session session(options_of(&ranks));
  Model model(session, small_network(2, false), {.distribution = {.ranks = 2}});
  model.prepare_training({});
  Tensor x(DType::f32, {2, kSide, kSide, 3}), labels(DType::i32, {2});
  std::fill(x.span<float>().begin(), x.span<float>().end(), 0.5f);
  std::fill(labels.span<std::int32_t>().begin(), labels.span<std::int32_t>().end(), 1);
  FunctionFeed feed([&](Program& program) {
    program.bind("x", x);
    program.bind("labels", labels);
    return before();
  });
  run(model, feed);
}

TEST(DataParallel, ARankWithoutDataEndsAllBehindTheSameStep) {
  comm::expect_ranks(2, [](comm::Communicator& ranks) {
    int left = ranks.rank() == 0 ? 5 : 3;
    with_one_batch(
        ranks, [&] { return left-- > 0; },
        [](Model& model, Feed& feed) {
          const RunContext end = Loop(model, feed, {.total_steps = 10}).run({});
          EXPECT_EQ(end.step(), 3);
          EXPECT_EQ(end.reason(), StopReason::no_data);
        });
  });
}

TEST(DataParallel, RanksThatRunOtherStepsAreRefused) {
  const std::vector<std::string> ends = comm::run_ranks(2, [](comm::Communicator& ranks) {
    Session session(options_of(&ranks));
    Model model(session, small_network(2, false), {.distribution = {.ranks = 2}});
    nn::TrainingOptions training;
    if (ranks.rank() == 1) training.gradients.clip_norm = 1;
    model.prepare_training(training);
  });
  for (const std::string& end : ends) EXPECT_EQ(end.rfind("[ranks] rank 1 runs ", 0), 0u) << end;
  EXPECT_NE(ends[1].find(", rank 0 "), std::string::npos) << ends[1];
}

TEST(DataParallel, RanksWithOtherSettingsAllSayWhichAndWhose) {
  const std::vector<std::string> ends = comm::run_ranks(3, [](comm::Communicator& ranks) {
    const Ranks all({&ranks, [](comm::Communicator*) {}});
    all.agree({{"--model", "linear"}, {"--lr", "0.1"}});
    all.agree({{"--model", "linear"}, {"--lr", ranks.rank() == 1 ? "0.2" : "0.1"}, {"steps", "3"}});
  });
  for (const std::string& end : ends)
    EXPECT_EQ(end, "[ranks] rank 1 has --lr=0.2, rank 0 --lr=0.1: all processes of a run need the same settings");
}

TEST(DataParallel, ARankThatCannotReadItsDataIsNamedByTheOthers) {
  const std::vector<std::string> ends = comm::run_ranks(2, [](comm::Communicator& ranks) {
    int done = 0;
    with_one_batch(
        ranks,
        [&] {
          if (++done == 3 && ranks.rank() == 1) throw Error("the disk is gone");
          return true;
        },
        [](Model& model, Feed& feed) { Loop(model, feed, {.total_steps = 10}).run({}); });
  });
  EXPECT_EQ(ends[1], "the disk is gone");
  EXPECT_EQ(ends[0], "[ranks] rank 1 cannot read its data");
}

// The signal arrives when the ranks have agreed to run this step, and only at one of them.
TEST(DataParallel, AnInterruptOfOneRankEndsAllBehindTheSameStep) {
  const std::vector<std::string> ends = comm::run_processes(2, [](comm::Communicator& ranks) {
    int done = 0;
    with_one_batch(
        ranks,
        [&] {
          if (++done == 3 && ranks.rank() == 1) set_interrupted(true);
          return true;
        },
        [](Model& model, Feed& feed) {
          const RunContext end = Loop(model, feed, {.total_steps = 10, .loop = 1}).run({});
          if (end.step() != 3 || end.reason() != StopReason::interrupted)
            throw Error(fmt::format("ended at step {}", end.step()));
        });
  });
  EXPECT_EQ(ends, (std::vector<std::string>{"", ""}));
}

// In the middle of a step of three batches: accumulated gradients are local to each rank, so no checkpoint can store
// them.
TEST(DataParallel, AnInterruptWaitsForTheEndOfAStepOfSeveralBatches) {
  const std::vector<std::string> ends = comm::run_processes(2, [](comm::Communicator& ranks) {
    Session session(options_of(&ranks));
    Model model(session, small_network(2, false), {.distribution = {.ranks = 2}});
    nn::TrainingOptions training;
    training.gradients.accumulate = 3;
    model.prepare_training(training);
    Tensor x(DType::f32, {2, kSide, kSide, 3}), labels(DType::i32, {2});
    std::fill(x.span<float>().begin(), x.span<float>().end(), 0.5f);
    std::fill(labels.span<std::int32_t>().begin(), labels.span<std::int32_t>().end(), 1);
    int fed = 0;
    FunctionFeed feed([&](Program& program) {
      if (++fed == 4 && ranks.rank() == 1) set_interrupted(true);  // the first batch of step 2
      program.bind("x", x);
      program.bind("labels", labels);
      return true;
    });
    const RunContext end = Loop(model, feed, {.total_steps = 10}).run({});
    if (end.step() != 2 || model.runs_done() != 0 || fed != 6)
      throw Error(fmt::format("step {}, {} of its runs, {} batches", end.step(), model.runs_done(), fed));
  });
  EXPECT_EQ(ends, (std::vector<std::string>{"", ""}));
}

}  // namespace
}  // namespace ridgeline::train
