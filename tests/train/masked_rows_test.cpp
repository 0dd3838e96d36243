// A training step with a row mask uses only the unmasked rows: parameters and statistics are those of a batch of only
// these rows, whatever the others contain.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ridgeline/core/random.h"
#include "ridgeline/train/loop/loop.h"
#include "ridgeline/train/recipe/batch_parts.h"
#include "tests/comm/ranks.h"
#include "tests/train/recorded_losses.h"

namespace ridgeline::train {
namespace {

constexpr std::int64_t kMaskedSide = 16, kMaskedClasses = 5;

// The rows of a step; masked ones contain values that would be noticed.
struct Rows {
  Tensor images, labels, mask;
};

Rows draw(const std::vector<std::uint8_t>& mask, bool only_good, std::uint64_t step) {
  const auto all = static_cast<std::int64_t>(mask.size());
  const auto good = static_cast<std::int64_t>(std::count(mask.begin(), mask.end(), 1));
  const std::int64_t rows = only_good ? good : all, pixels = kMaskedSide * kMaskedSide * 3;
  Rows batch{Tensor(DType::f32, Shape{rows, kMaskedSide, kMaskedSide, 3}), Tensor(DType::i32, Shape{rows}),
             Tensor(DType::u8, Shape{rows})};
  SampleRandom random(philox_key(5, "rows"), 0, step);
  std::int64_t row = 0;
  for (const std::uint8_t counts : mask) {
    if (counts == 0 && only_good) continue;
    float* image = batch.images.data<float>() + row * pixels;
    for (std::int64_t i = 0; i < pixels; ++i)
      image[i] = counts != 0 ? static_cast<float>(random.uniform(-1, 1)) : 50.0f;
    batch.labels.set(row, counts != 0 ? static_cast<double>(random.integer(0, kMaskedClasses - 1)) : -1);
    batch.mask.set(row, counts);
    ++row;
  }
  return batch;
}

struct Trained {
  Trained(const char* model_name, std::int64_t rows, bool masked, const PrecisionPolicy& precision = {})
      : model(session,
              nn::image_classifier({.model = &nn::model_named(model_name),
                                    .model_options = {.num_classes = kMaskedClasses},
                                    .batch_size = rows,
                                    .image_size = kMaskedSide,
                                    .images = nn::ImageForm::f32,
                                    .row_mask = masked}),
              {.seed = 3, .compile = {.precision = precision}}) {
    model.prepare_training({.schedule = optim::Constant{.base = 0.02}});
  }
  // The loss of the last step.
  double train(const std::vector<std::vector<std::uint8_t>>& masks, bool masked) {
    std::uint64_t step = 0;
    Rows batch;
    FunctionFeed feed([&](Program& program) {
      batch = draw(masks.at(step), !masked, step);
      ++step;
      program.bind(nn::kImagesInput, batch.images);
      program.bind(nn::kLabelsInput, batch.labels);
      if (masked) program.bind(nn::kMaskInput, batch.mask);
      return true;
    });
    const auto steps = static_cast<std::int64_t>(masks.size());
    return Loop(model, feed, {.total_steps = steps, .loop = 1}).run({}).value("loss");
  }
  Session session{{.compute_threads = 2}};
  Model model;
};

// Each parameter, slot and statistic as one vector.
void expect_near(Session& a, Session& b, double tolerance, std::string_view ending = "") {
  for (const std::string& name : a.parameters().names()) {
    if (!name.ends_with(ending)) continue;
    const Tensor left = a.parameters().get(name), right = b.parameters().get(name);
    ASSERT_EQ(left.shape(), right.shape()) << name;
    double difference = 0, size = 0;
    for (std::int64_t i = 0; i < left.elements(); ++i) {
      difference += (left.at(i) - right.at(i)) * (left.at(i) - right.at(i));
      size += right.at(i) * right.at(i);
    }
    EXPECT_LT(std::sqrt(difference), tolerance * (std::sqrt(size) + 0.01)) << name;
  }
}

// One step from the same parameters: its slots are the gradients. Later steps may diverge, when a relu whose operand is
// nearly 0 opens in one of the two.
TEST(MaskedRows, TrainAsIfTheOthersHadNotBeenThere) {
  for (const char* model : {"linear", "resnet20"}) {
    for (const std::vector<std::uint8_t>& mask : {std::vector<std::uint8_t>{1, 0, 1, 1, 0, 1}, {0, 1, 1, 0, 1, 1}}) {
      Trained masked(model, 6, true), plain(model, 4, false);
      EXPECT_NEAR(masked.train({mask}, true), plain.train({mask}, false), 1e-5) << model;
      expect_near(masked.session, plain.session, 1e-3);
    }
  }
}

TEST(MaskedRows, WithAllOfThemTheStepIsTheOneWithoutAMask) {
  const std::vector<std::vector<std::uint8_t>> masks(1, std::vector<std::uint8_t>(6, 1));
  Trained masked("resnet20", 6, true), plain("resnet20", 6, false);
  EXPECT_NEAR(masked.train(masks, true), plain.train(masks, false), 1e-5);
  expect_near(masked.session, plain.session, 1e-3);
}

TEST(MaskedRows, ABatchWithoutAnyLeavesStatisticsAndHasNoLoss) {
  Trained masked("resnet20", 4, true);
  const auto mean = [&] { return masked.session.parameters().get("bn1.running_mean"); };
  masked.train({{1, 1, 1, 1}}, true);
  const Tensor before = mean().clone();
  // Resuming after step 1: the feed's first mask belongs to the second step.
  FunctionFeed feed([&](Program& program) {
    static Rows batch;
    batch = draw({0, 0, 0, 0}, false, 1);
    program.bind(nn::kImagesInput, batch.images);
    program.bind(nn::kLabelsInput, batch.labels);
    program.bind(nn::kMaskInput, batch.mask);
    return true;
  });
  EXPECT_EQ(Loop(masked.model, feed, {.total_steps = 2, .loop = 1}).run({}).value("loss"), 0);
  for (std::int64_t i = 0; i < before.elements(); ++i) EXPECT_EQ(mean().at(i), before.at(i));
}

TEST(MaskedRows, ReducedPrecisionKeepsTheSumsThatDecide) {
  const std::vector<std::vector<std::uint8_t>> masks = {{1, 0, 1, 1, 0, 1}};
  Trained reduced("resnet20", 6, true, PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"))),
      full("resnet20", 6, true);
  EXPECT_NEAR(reduced.train(masks, true), full.train(masks, true), 0.1);
  expect_near(reduced.session, full.session, 0.02, ".running_mean");
  expect_near(reduced.session, full.session, 0.02, ".running_var");
}

// Two steps of `linear` with the rows of `mask`, divided among ranks and the parts of a rank's batch. Returns the
// losses, and parameters and slots as in a checkpoint.
std::pair<std::vector<double>, std::vector<NamedTensor>> train_shared(comm::Communicator* ranks, std::int64_t parts,
                                                                      const std::vector<std::uint8_t>& mask) {
  const std::int64_t n = ranks ? ranks->size() : 1, rank = ranks ? ranks->rank() : 0;
  const auto rows = static_cast<std::int64_t>(mask.size()) / n;
  SessionOptions options{.compute_threads = 1};
  if (ranks) options.groups[kWorld] = std::shared_ptr<comm::Communicator>(ranks, [](comm::Communicator*) {});
  Session session(options);
  Model model(
      session,
      nn::image_classifier({.model = &nn::model_named("linear"),
                            .model_options = {.num_classes = kMaskedClasses},
                            .batch_size = rows / parts,
                            .image_size = kMaskedSide,
                            .images = nn::ImageForm::f32,
                            .row_mask = true}),
      {.seed = 3, .distribution = {.ranks = n, .rank = rank}, .parts = {.parts = parts, .ranks = n, .place = rank}});
  model.prepare_training({.schedule = optim::Constant{.base = 0.02}, .loss_ranks = n * parts});
  std::uint64_t step = 0;
  Rows batch;
  FunctionFeed feed([&](Program& program) {
    const Rows all = draw(mask, false, step++);
    batch = {rows_of_part(all.images, rank, n), rows_of_part(all.labels, rank, n), rows_of_part(all.mask, rank, n)};
    program.bind(nn::kImagesInput, batch.images);
    program.bind(nn::kLabelsInput, batch.labels);
    program.bind(nn::kMaskInput, batch.mask);
    return true;
  });
  RecordedLosses losses;
  Loop(model, feed, {.total_steps = 2, .loop = 1}).run({&losses});
  return {losses.all, model.to_file()};
}

TEST(MaskedRows, OfSeveralRanksOrPartsCountAsInOneBatch) {
  // Ranks with different numbers of unmasked rows, one of them with none.
  for (const std::vector<std::uint8_t>& mask :
       {std::vector<std::uint8_t>{1, 0, 1, 1, 1, 0, 1, 0}, {1, 0, 1, 0, 1, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}}) {
    const auto [losses, values] = train_shared(nullptr, 1, mask);
    const auto expect_equal = [&, &losses = losses, &values = values](const auto& other) {
      for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(other.first.at(i), losses[i], 1e-6);
      for (std::size_t i = 0; i < values.size(); ++i) {
        for (std::int64_t at = 0; at < values[i].tensor.elements(); ++at)
          ASSERT_NEAR(other.second.at(i).tensor.at(at), values[i].tensor.at(at), 1e-6) << values[i].name;
      }
    };
    expect_equal(train_shared(nullptr, 4, mask));
    for (const int n : {2, 4})
      comm::expect_ranks(n, [&](comm::Communicator& ranks) { expect_equal(train_shared(&ranks, 1, mask)); });
    comm::expect_ranks(2, [&](comm::Communicator& ranks) { expect_equal(train_shared(&ranks, 2, mask)); });
  }
}

}  // namespace
}  // namespace ridgeline::train
