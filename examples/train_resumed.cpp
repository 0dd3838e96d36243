// A training that may be killed at any moment. The same command resumes it and gives the same bytes as an uninterrupted
// training, also with another number of workers, steps per loop or ranks:
//
//   example_train_resumed DIRECTORY [WORKERS [LOOP]]
//   ridgeline launch --ranks 2 -- example_train_resumed DIRECTORY
#include <cmath>
#include <exception>
#include <iostream>
#include <string>

#include "ridgeline/ridgeline.h"

using namespace ridgeline;

// A batch is computed in parts, equally many on each rank: 1, 2 or 4 ranks give the same bytes.
constexpr std::int64_t kBatch = 32, kParts = 4, kPartRows = kBatch / kParts, kClasses = 3;

// Arms of a spiral, one per class.
data::Dataset arms(std::int64_t points, double begin) {
  Tensor point(DType::f32, Shape{points, 2}), label(DType::i32, Shape{points});
  for (std::int64_t i = 0; i < points; ++i) {
    const double radius = begin + static_cast<double>(i) / static_cast<double>(points),
                 angle = 4 * radius + 2.0944 * static_cast<double>(i % kClasses);
    point.data<float>()[2 * i] = static_cast<float>(radius * std::cos(angle));
    point.data<float>()[2 * i + 1] = static_cast<float>(radius * std::sin(angle));
    label.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % kClasses);
  }
  return data::InMemory({{"point", point}, {"label", label}});
}

Value logits(nn::ModelContext& context) {
  Value x = context.builder.input("point", {DType::f32, {kPartRows, 2}});
  x = nn::dense_layer(context, x, {.name = "hidden", .out = 128, .activation = nn::Activation::relu});
  x = nn::dropout_layer(context, x, "drop", 0.9);
  return nn::dense_layer(context, x, {.name = "out", .out = kClasses});
}

Value label(nn::ModelContext& context) { return context.builder.input("label", {DType::i32, {kPartRows}}); }

const nn::Network network{
    .name = "arms",
    .loss = [](nn::ModelContext& c) { return nn::mean(nn::softmax_cross_entropy(logits(c), label(c), {}).loss); },
    .evaluate =
        [](nn::ModelContext& c) {
          const Value mask = c.builder.input(nn::kMaskInput, {DType::f32, {kPartRows}}), scores = logits(c),
                      is = label(c);
          c.builder.returns("loss_sum", nn::sum(nn::softmax_cross_entropy(scores, is, mask).loss));
          c.builder.returns("top_1", c.builder.apply("argmax_accuracy", {scores, is, mask}));
          c.builder.returns(nn::kRowsResult, nn::sum(mask));
        },
};

int main(int argc, char** argv) try {
  if (argc < 2) return std::cerr << "usage: " << argv[0] << " DIRECTORY [WORKERS [LOOP]]\n", 2;
  const int workers = argc > 2 ? std::stoi(argv[2]) : 1, loop = argc > 3 ? std::stoi(argv[3]) : 10;
  const train::RunRanks ranks = train::connect_ranks();
  train::Run run(network, {.optimizer = optim::Adam{}, .schedule = optim::Constant{.base = 0.01}},
                 {.directory = argv[1],
                  .seed = 7,
                  .save = {.steps = 5, .keep = 3},
                  .session = {.promise = {.bits = Reproducibility::deterministic}},
                  .ranks = ranks,
                  .batch_parts = kParts});
  const data::Dataset points = run.part_of(arms(384, 0).shuffle()).batch(kBatch / ranks.size());
  const data::Dataset validation = run.part_of(arms(90, 0.005)).batch(kPartRows);
  const train::EpochOptions options{.loop = loop, .validation = &validation, .data = {.workers = workers}};
  run.train_epochs(4, points, {}, options);
  const train::RunResult end = run.train_epochs(4, points, {}, options);
  const double top_1 = run.evaluate(validation)["top_1"];
  if (end.writes) std::cout << "step " << end.step << ": " << top_1 << ", best " << end.best_path << "\n";
  return end.interrupted ? 130 : 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
