// A user's own model, data and callback: a network of two layers classifies points of two interleaved spirals.
#include <cmath>
#include <iostream>

#include "ridgeline/ridgeline.h"

using namespace ridgeline;

constexpr std::int64_t kPoints = 512, kBatch = 64;

data::Dataset spirals() {
  Tensor point(DType::f32, Shape{kPoints, 2}), label(DType::i32, Shape{kPoints});
  for (std::int64_t i = 0; i < kPoints; ++i) {
    const double radius = static_cast<double>(i + 64) / kPoints, side = i % 2 == 0 ? 1 : -1;
    point.data<float>()[2 * i] = static_cast<float>(side * radius * std::cos(6 * radius));
    point.data<float>()[2 * i + 1] = static_cast<float>(side * radius * std::sin(6 * radius));
    label.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 2);
  }
  return data::InMemory({{"point", point}, {"label", label}}).shuffle().batch(kBatch);
}

Value logits(nn::ModelContext& context) {
  const Value point = context.builder.input("point", {DType::f32, {kBatch, 2}});
  const Value hidden =
      nn::dense_layer(context, point, {.name = "hidden", .out = 64, .activation = nn::Activation::relu});
  const Value second =
      nn::dense_layer(context, hidden, {.name = "second", .out = 64, .activation = nn::Activation::relu});
  return nn::dense_layer(context, second, {.name = "out", .out = 2});
}

const nn::Network network{
    .name = "spirals",
    .loss =
        [](nn::ModelContext& context) {
          const Value labels = context.builder.input("label", {DType::i32, {kBatch}});
          return nn::mean(nn::softmax_cross_entropy(logits(context), labels, {}).loss);
        },
};

class Progress : public train::Callback {
 public:
  void epoch_end(train::RunContext& run) override {
    if (run.epoch() % 20 == 0) std::cout << "epoch " << run.epoch() << ": loss " << run.loss() << "\n";
    if (run.loss() < 0.02) run.request_stop();
  }
};

int main() {
  Session session;
  train::Model model(session, network);
  model.set_seed(1);  // for weights and data order
  model.prepare_training({.optimizer = optim::Adam{}, .schedule = optim::Constant{.base = 0.01}, .weight_decay = 0});
  Progress progress;
  train::ModelCheckpoint saver("spirals", "runs/spirals", {.save_checkpoint_steps = 400});
  if (saver.resume(model)) std::cout << "going on from " << saver.latest_ckpt_file_name() << "\n";
  const std::int64_t steps = train::train_to_epoch(model, 300, spirals(), {&progress, &saver});
  std::cout << "trained " << steps << " steps, saved " << saver.latest_ckpt_file_name() << "\n";
}
