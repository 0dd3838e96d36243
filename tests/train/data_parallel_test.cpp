// Training over ranks: N ranks with batches of B are one rank with batches of N * B.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/nn/layers.h"
#include "ridgeline/train/interrupt.h"
#include "ridgeline/train/loop.h"
#include "tests/comm/ranks.h"

namespace ridgeline::train {
namespace {

constexpr std::int64_t kImages = 16, kSide = 12, kClasses = 5, kSteps = 20;

// Convolutions, batch norm where asked for, a pool and two dense layers.
nn::Network small_network(std::int64_t batch, bool norm) {
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
            x = nn::dense_layer(context, x, {.name = "fc1", .out = 40, .activation = nn::Activation::relu});
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
};

struct Trained {
  std::map<std::string, Tensor> values;
  std::vector<double> losses;
  comm::Traffic traffic;
};

// Image i of batch b of the whole job; rank r of N has images r, r + N, ...
float pixel(std::int64_t run, std::int64_t image, std::int64_t at) {
  return static_cast<float>(std::sin(0.37 * static_cast<double>(at % 97) + 1.3 * static_cast<double>(image) +
                                     0.7 * static_cast<double>(run * (at % 5 + 1))));
}

// A session of the ranks, which the test's harness owns; of one rank where there are none.
SessionOptions options_of(comm::Communicator* ranks, const std::string& device = "cpu") {
  SessionOptions options{.compute_threads = 1, .device = device};
  if (ranks) options.groups[kWorld] = std::shared_ptr<comm::Communicator>(ranks, [](comm::Communicator*) {});
  return options;
}

Trained train_small(comm::Communicator* ranks, const Options& options) {
  const std::int64_t n = ranks ? ranks->size() : 1, rank = ranks ? ranks->rank() : 0;
  const std::int64_t batch = kImages / n;
  Session session(options_of(ranks, options.device));
  Model model(session, small_network(batch, options.norm),
              {.seed = 3, .distribution = {.ranks = n, .overlap = options.overlap, .split = options.split}});
  nn::TrainingOptions training{
      .optimizer = optim::Momentum{.momentum = 0.9}, .schedule = optim::Constant{.base = 0.05}, .weight_decay = 1e-3};
  training.gradients.accumulate = options.accumulate;
  training.gradients.clip_norm = options.clip_norm;
  training.gradients.loss_scale = options.loss_scale;
  if (options.synchronised) training.statistics_ranks = n;
  model.prepare_training(training);
  Ranks(session).tell(session.parameters());
  Tensor x(DType::f32, {batch, kSide, kSide, 3}), labels(DType::i32, {batch});
  std::int64_t run = 0;
  FunctionFeed feed([&](Program& program) {
    const std::int64_t pixels = kSide * kSide * 3;
    for (std::int64_t i = 0; i < batch; ++i) {
      const std::int64_t image = i * n + rank;
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
  for (const std::string& name : session.parameters().names()) trained.values[name] = session.parameters().get(name);
  if (ranks) trained.traffic = ranks->traffic();
  return trained;
}

double distance(const Tensor& a, const Tensor& b) {
  double worst = 0, largest = 1e-3;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    worst = std::max(worst, std::abs(a.at(i) - b.at(i)));
    largest = std::max(largest, std::abs(b.at(i)));
  }
  return worst / largest;
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

}  // namespace
}  // namespace ridgeline::train
