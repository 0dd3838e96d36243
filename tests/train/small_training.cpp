#include "tests/train/small_training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ridgeline/train/ranks/ranks.h"
#include "tests/train/distance.h"
#include "tests/train/recorded_losses.h"

namespace ridgeline::train::small {

nn::Network small_network(std::int64_t batch, bool norm, double keep, std::int64_t width) {
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

namespace {

// Image i of batch b of the whole job; the rank at place r of N has images r, r + N, ...
float pixel(std::int64_t run, std::int64_t image, std::int64_t at) {
  return static_cast<float>(std::sin(0.37 * static_cast<double>(at % 97) + 1.3 * static_cast<double>(image) +
                                     0.7 * static_cast<double>(run * (at % 5 + 1))));
}

}  // namespace

SessionOptions options_of(comm::Communicator* ranks, const Options& given) {
  SessionOptions options{.compute_threads = given.threads, .device = given.device};
  options.trace = !given.trace.empty();
  if (given.parts > 0) options.promise.bits = Reproducibility::deterministic;
  if (ranks) options.groups[kWorld] = std::shared_ptr<comm::Communicator>(ranks, [](comm::Communicator*) {});
  return options;
}

Trained train_small(comm::Communicator* ranks, const Options& options) {
  const RunRanks run_ranks = ranks ? with_servers({ranks, [](comm::Communicator*) {}}, options.servers) : RunRanks();
  const std::int64_t n = run_ranks.data_ranks(), rank = run_ranks.rank();
  const std::int64_t batch = kImages / n;
  const BatchParts parts{.parts = options.parts > 0 ? options.parts / n : 1,
                         .ranks = n,
                         .place = run_ranks.serves()  ? 0
                                  : options.parts > 0 ? place_of_rank(rank, n)
                                                      : rank};
  SessionOptions session_options = options_of(ranks, options);
  if (run_ranks.workers) session_options.groups[kWorkersGroup] = run_ranks.workers;
  Session session(std::move(session_options));
  Model model(session, small_network(batch / parts.parts, options.norm, options.keep, options.width),
              {.seed = 3,
               .compile = {.precision = options.precision},
               .distribution = {.ranks = n,
                                .rank = rank,
                                .overlap = options.overlap,
                                .split = options.split,
                                .each_batch = options.parts > 0,
                                .shard_updates = options.shard,
                                .servers = options.servers},
               .parts = parts,
               .server_parameters = options.server_parameters});
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
    if (run_ranks.serves()) return true;
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
  RecordedLosses losses;
  Loop(model, feed, {.total_steps = options.steps, .steps_per_epoch = 1000, .loop = 1, .stop_if_not_finite = false})
      .run({&losses});
  trained.losses = losses.all;
  if (ranks) trained.traffic = ranks->traffic();
  for (const NamedTensor& tensor : model.to_file()) trained.file[tensor.name] = tensor.tensor;
  if (options.servers > 0) trained.values = trained.file;
  for (const std::string& name : session.parameters().names()) {
    const Tensor own = session.parameters().get(name);
    trained.bytes[name] = own.byte_size();
    if (options.servers == 0) trained.values[name] = options.shard ? trained.file.at(name) : own;
  }
  if (session.trace() && rank == 0) session.trace()->write(options.trace);
  return trained;
}

void expect_close(const Trained& some, const Trained& other, double tolerance) {
  ASSERT_EQ(some.values.size(), other.values.size());
  // Slots contain gradients, which are sums of many terms of both signs.
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

Trained train_over(int n, const Options& options) {
  std::vector<Trained> all(static_cast<std::size_t>(n));
  comm::expect_ranks(n, [&](comm::Communicator& ranks) {
    all[static_cast<std::size_t>(ranks.rank())] = train_small(&ranks, options);
  });
  for (int r = 1; r < n; ++r) expect_same(all[static_cast<std::size_t>(r)], all[0]);
  return std::move(all[0]);
}

}  // namespace ridgeline::train::small
