// Training over ranks: N ranks with batches of B are one rank with batches of N * B.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/nn/layers.h"
#include "ridgeline/optim/adam.h"
#include "ridgeline/train/interrupt.h"
#include "ridgeline/train/loop.h"
#include "tests/comm/ranks.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/distance.h"

namespace ridgeline::train {
namespace {

constexpr std::int64_t kImages = 16, kSide = 12, kClasses = 5, kSteps = 20;

// Convolutions, batch norm where asked for, a pool and two dense layers.
nn::Network small_network(std::int64_t batch, bool norm, double keep = 1, std::int64_t width = 40) {
  return {.name = "small", .loss = [=](nn::ModelContext& context) {
            GraphBuilder& builder = context.builder;
            Value x = builder.input("x", {DType::f32, {batch, kSide, kSide, 3}});
            const Value labels = builder.input("labels", {DType::i32, {batch}});
            const auto conv = [&](const char* name, std::int64_t out) {
              nn::ConvLayer layer{.name = name, .out = out, .pad = 1, .activation = nn::Activation::relu};
              if (norm) layer.norm = nn::BatchNormLayer{std::string(name) + "/norm"};
              return nn::conv_layer(context, x, layer);
            };
            x = conv("conv1", 16);
            x = nn::max_pool(x, {});
            x = conv("conv2", 24);
            x = nn::global_avg_pool(x);
            x = nn::dense_layer(context, x, {.name = "fc1", .out = width, .activation = nn::Activation::relu});
            x = nn::dropout_layer(context, x, "drop", keep);
            x = nn::dense_layer(context, x, {.name = "fc2", .out = kClasses});
            return nn::mean(nn::softmax_cross_entropy(x, labels, {}, 0.1).loss);
          }};
}

struct Options {
  bool norm = false, synchronised = false;
  bool overlap = true;
  std::int64_t accumulate = 1;
  double clip_norm = 0;
  std::optional<optim::LossScale> loss_scale = {};
  SplitStrategy split = {};
  std::string device = "cpu";
  int overflow_at = -1;  // the run in which rank 1 gets values that overflow
  std::int64_t steps = kSteps;
  std::int64_t parts = 0;   // of the batch of all ranks, whose sums have one order; 0: none
  double keep = 1;          // of dropout
  std::int64_t width = 40;  // of the dense layer between
  PrecisionPolicy precision = {};
  int threads = 1;
  std::string trace = {};  // file
  bool shard = false;      // slots and updates are split over the ranks
  optim::Optimizer optimizer = optim::Momentum{.momentum = 0.9};
};

struct Trained {
  std::map<std::string, Tensor> values;
  std::map<std::string, Tensor> file;        // what a checkpoint holds
  std::map<std::string, std::size_t> bytes;  // that this rank keeps, by name
  std::vector<double> losses;
  comm::Traffic traffic;
};

// Image i of batch b of the whole job; the rank at place r of N has images r, r + N, ...
float pixel(std::int64_t run, std::int64_t image, std::int64_t at) {
  return static_cast<float>(std::sin(0.37 * static_cast<double>(at % 97) + 1.3 * static_cast<double>(image) +
                                     0.7 * static_cast<double>(run * (at % 5 + 1))));
}

// A session of the ranks, which the test's harness owns; of one rank where there are none.
SessionOptions options_of(comm::Communicator* ranks, const Options& given = {}) {
  SessionOptions options{.compute_threads = given.threads, .device = given.device};
  options.trace = !given.trace.empty();
  if (given.parts > 0) options.promise.bits = Reproducibility::deterministic;
  if (ranks) options.groups[kWorld] = std::shared_ptr<comm::Communicator>(ranks, [](comm::Communicator*) {});
  return options;
}

Trained train_small(comm::Communicator* ranks, const Options& options) {
  const std::int64_t n = ranks ? ranks->size() : 1, rank = ranks ? ranks->rank() : 0;
  const std::int64_t batch = kImages / n;
  const BatchParts parts{.parts = options.parts > 0 ? options.parts / n : 1,
                         .ranks = n,
                         .place = options.parts > 0 ? place_of_rank(rank, n) : rank};
  Session session(options_of(ranks, options));
  Model model(session, small_network(batch / parts.parts, options.norm, options.keep, options.width),
              {.seed = 3,
               .compile = {.precision = options.precision},
               .distribution = {.ranks = n,
                                .rank = rank,
                                .overlap = options.overlap,
                                .split = options.split,
                                .each_batch = options.parts > 0,
                                .shard_updates = options.shard},
               .parts = parts});
  nn::TrainingOptions training{
      .optimizer = options.optimizer, .schedule = optim::Constant{.base = 0.05}, .weight_decay = 1e-3};
  training.gradients.accumulate = options.accumulate;
  training.gradients.clip_norm = options.clip_norm;
  training.gradients.loss_scale = options.loss_scale;
  if (options.synchronised) training.statistics_ranks = parts.all();
  model.prepare_training(training);
  model.share();
  Tensor x(DType::f32, {batch, kSide, kSide, 3}), labels(DType::i32, {batch});
  std::int64_t run = 0;
  FunctionFeed feed([&](Program& program) {
    const std::int64_t pixels = kSide * kSide * 3;
    for (std::int64_t i = 0; i < batch; ++i) {
      const std::int64_t image = i * n + parts.place;
      for (std::int64_t at = 0; at < pixels; ++at) x.data<float>()[i * pixels + at] = pixel(run, image, at);
      labels.data<std::int32_t>()[i] = static_cast<std::int32_t>((image * 7 + run) % kClasses);
    }
    if (run == options.overflow_at && rank == n - 1) x.data<float>()[0] = 3e38f;
    ++run;
    program.bind("x", x);
    program.bind("labels", labels);
    return true;
  });
  Trained trained;
  struct Losses : Callback {
    std::vector<double>& losses;
    explicit Losses(std::vector<double>& list) : losses(list) {}
    void step_end(RunContext& context) override { losses.push_back(context.loss()); }
  } losses(trained.losses);
  Loop(model, feed, {.total_steps = options.steps, .steps_per_epoch = 1000, .loop = 1, .stop_if_not_finite = false})
      .run({&losses});
  if (ranks) trained.traffic = ranks->traffic();
  for (const NamedTensor& tensor : model.to_file()) trained.file[tensor.name] = tensor.tensor;
  for (const std::string& name : session.parameters().names()) {
    const Tensor own = session.parameters().get(name);
    trained.bytes[name] = own.byte_size();
    trained.values[name] = options.shard ? trained.file.at(name) : own;
  }
  if (session.trace() && rank == 0) session.trace()->write(options.trace);
  return trained;
}

void expect_close(const Trained& some, const Trained& other, double tolerance) {
  ASSERT_EQ(some.values.size(), other.values.size());
  // Slots hold gradients, which are sums of many terms of both signs.
  for (const auto& [name, value] : some.values) {
    const double allowed = name.ends_with("/momentum") ? 10 * tolerance : tolerance;
    EXPECT_LE(distance(value, other.values.at(name)), allowed) << name;
  }
  ASSERT_EQ(some.losses.size(), other.losses.size());
  for (std::size_t i = 0; i < some.losses.size(); ++i) EXPECT_NEAR(some.losses[i], other.losses[i], 1e-5) << i;
}

void expect_same(const Trained& some, const Trained& other) {
  for (const auto& [name, value] : some.values)
    EXPECT_EQ(std::memcmp(value.raw(), other.values.at(name).raw(), value.byte_size()), 0) << name;
  EXPECT_EQ(some.losses, other.losses);
}

// Every rank of `n`; all end with the same bits.
Trained train_over(int n, const Options& options) {
  std::vector<Trained> all(static_cast<std::size_t>(n));
  comm::expect_ranks(n, [&](comm::Communicator& ranks) {
    all[static_cast<std::size_t>(ranks.rank())] = train_small(&ranks, options);
  });
  for (int r = 1; r < n; ++r) expect_same(all[static_cast<std::size_t>(r)], all[0]);
  return std::move(all[0]);
}

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
  expect_same(train_over(2, in_four), train_over(2, {}));  // however they are split
}

// A step over one, two and four ranks, and with a team of two threads: the same bits.
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
  EXPECT_GT(std::abs(one.losses[0] - two.losses[0]), 1e-6);  // masks by the rank
  EXPECT_NE(two.losses[0], same.losses[0]);
}

TEST(DataParallel, SplitUpdatesGiveTheBitsOfWholeOnes) {
  const std::string slot = "conv2.weight/momentum";
  for (const int n : {2, 4}) {
    SCOPED_TRACE(n);
    Options options{.loss_scale = optim::LossScale::dynamic(1024, 2, 50), .steps = 5};
    const Trained whole = train_over(n, options);
    options.shard = true;
    const Trained split = train_over(n, options);
    ASSERT_EQ(split.file.size(), whole.file.size());
    for (const auto& [name, value] : split.file) {
      EXPECT_EQ(value.shape(), whole.file.at(name).shape()) << name;
      EXPECT_EQ(std::memcmp(value.raw(), whole.file.at(name).raw(), value.byte_size()), 0) << name;
    }
    EXPECT_EQ(split.losses, whole.losses);
    EXPECT_EQ(split.bytes.at(slot), whole.bytes.at(slot) / static_cast<std::size_t>(n));
    EXPECT_EQ(split.bytes.at("conv1.weight/momentum"), whole.bytes.at("conv1.weight/momentum"));  // small: whole
  }
}

// Nothing but the update reads the mean of a gradient here: a rank gets its part of it alone.
TEST(DataParallel, SplitUpdatesScatterTheirGradientsWithTheSameBits) {
  for (const int n : {2, 3, 4}) {
    for (const bool overlap : {false, true}) {
      SCOPED_TRACE(n);
      Options options{.overlap = overlap, .split = SplitStrategy::by_sizes({60, 40}), .steps = 5};
      const Trained whole = train_over(n, options);
      options.shard = true;
      const Trained split = train_over(n, options);
      ASSERT_EQ(split.file.size(), whole.file.size());
      for (const auto& [name, value] : split.file)
        EXPECT_EQ(std::memcmp(value.raw(), whole.file.at(name).raw(), value.byte_size()), 0) << name;
      EXPECT_EQ(split.losses, whole.losses);
      // A reduce_scatter and an all_gather send what an all_reduce sends; agreements before each step are in both.
      EXPECT_LT(static_cast<double>(split.traffic.bytes), 1.05 * static_cast<double>(whole.traffic.bytes));
    }
  }
}

// Of 1 MiB and more, gradients and updated parts lie in memory that the ranks see, one in place of the other.
TEST(DataParallel, SplitUpdatesOfLargeParametersAreExchangedWhereTheyLie) {
  for (const int n : {2, 3}) {
    for (const bool overlap : {false, true}) {
      SCOPED_TRACE(n);
      Options options{.overlap = overlap, .split = SplitStrategy::by_sizes({30, 30, 40}), .steps = 4, .width = 12'001};
      const Trained whole = train_over(n, options);
      options.shard = true;
      const Trained split = train_over(n, options);
      for (const auto& [name, value] : split.file)
        EXPECT_EQ(std::memcmp(value.raw(), whole.file.at(name).raw(), value.byte_size()), 0) << name;
    }
  }
}

TEST(DataParallel, SplitUpdatesInPartsAndInSixteenBitsScatterWithTheSameBits) {
  for (const int n : {2, 4}) {
    SCOPED_TRACE(n);
    Options options{.steps = 5, .parts = 4};
    options.precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"));
    const Trained whole = train_over(n, options);
    options.shard = true;
    const Trained split = train_over(n, options);
    for (const auto& [name, value] : split.file)
      EXPECT_EQ(std::memcmp(value.raw(), whole.file.at(name).raw(), value.byte_size()), 0) << name;
  }
}

TEST(DataParallel, SplitUpdatesOfClippedGradientsAreCloseToWholeOnes) {  // a norm is added up in the order of a layout
  Options options{.clip_norm = 0.05, .steps = 5};
  const Trained whole = train_over(2, options);
  options.shard = true;
  const Trained split = train_over(2, options);
  for (const auto& [name, value] : split.file) EXPECT_LE(distance(value, whole.file.at(name)), 1e-5) << name;
}

TEST(DataParallel, SplitUpdatesTakeOptimizersOfSeveralSlots) {
  Options options{.steps = 5, .optimizer = optim::Adam{}};
  const Trained whole = train_over(3, options);
  options.shard = true;
  const Trained split = train_over(3, options);
  for (const auto& [name, value] : split.file)
    EXPECT_EQ(std::memcmp(value.raw(), whole.file.at(name).raw(), value.byte_size()), 0) << name;
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

// When the spans of that category and name begin.
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
    // Where the step hands its gradients over; when the other thread begins depends on the machine.
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

TEST(DataParallel, SeveralBatchesOfAStepAreExchangedOnce) {
  const Trained one = train_small(nullptr, {.accumulate = 3});
  const Trained two = train_over(2, {.accumulate = 3});
  expect_close(two, one, 1e-5);
  const Trained each = train_over(2, {.steps = 3 * kSteps});
  // Of the bytes of a step's gradients a third goes over: numbers of each run (the loss) come on top.
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

// One of two ranks that train on the same batch again and again; `run` gets the model and a feed of which `before` is
// asked in front of each batch: false ends it.
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
          const RunContext& end = Loop(model, feed, {.total_steps = 10}).run({});
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
  EXPECT_EQ(ends[0].rfind("[ranks] rank 1 runs another step than rank 0", 0), 0u) << ends[0];
  EXPECT_EQ(ends[1].rfind("[ranks] rank 1 runs ", 0), 0u) << ends[1];
  EXPECT_NE(ends[1].find(", rank 0 "), std::string::npos) << ends[1];
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

// The signal comes when this step's ranks have agreed to run it, and to one of them alone.
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
          const RunContext& end = Loop(model, feed, {.total_steps = 10, .loop = 1}).run({});
          if (end.step() != 3 || end.reason() != StopReason::interrupted)
            throw Error(fmt::format("ended at step {}", end.step()));
        });
  });
  EXPECT_EQ(ends, (std::vector<std::string>{"", ""}));
}

// In the middle of a step of three batches: what is accumulated is each rank's own, and no checkpoint could hold it.
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
    const RunContext& end = Loop(model, feed, {.total_steps = 10}).run({});
    if (end.step() != 2 || model.runs_done() != 0 || fed != 6)
      throw Error(fmt::format("step {}, {} of its runs, {} batches", end.step(), model.runs_done(), fed));
  });
  EXPECT_EQ(ends, (std::vector<std::string>{"", ""}));
}

}  // namespace
}  // namespace ridgeline::train
