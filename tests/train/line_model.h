// The smallest model that trains: y = w * x for points on a line of slope 3, with its own feed.
#pragma once

#include "ridgeline/nn/functional.h"
#include "ridgeline/train/loop/loop.h"

namespace ridgeline::train {

struct LineModel {
  static constexpr std::int64_t kRows = 8;

  static nn::TrainingOptions slow() {
    return {.optimizer = optim::Momentum{.momentum = 0.5, .nesterov = false},
            .schedule = optim::Constant{.base = 0.05},
            .weight_decay = 0};
  }

  explicit LineModel(nn::TrainingOptions options = slow()) {
    set_points();
    model.prepare_training(options);
  }
  // With another precision, or on another device.
  explicit LineModel(const PrecisionPolicy& precision, SessionOptions on = {.compute_threads = 1})
      : session(std::move(on)) {
    set_points();
    model.prepare_training(slow(), &precision);
  }

  void set_points() {
    for (std::int64_t i = 0; i < kRows; ++i) {
      x.data<float>()[i] = static_cast<float>(i) / kRows - 0.4f;
      y.data<float>()[i] = 3 * x.data<float>()[i];
    }
  }

  static nn::Network network() {
    return {.name = "line", .loss = [](nn::ModelContext& context) {
              GraphBuilder& builder = context.builder;
              const Value x = builder.input("x", {DType::f32, {kRows, 1}});
              const Value y = builder.input("y", {DType::f32, {kRows, 1}});
              const Value w = context.parameter("w", {1, 1}, nn::zeros());
              const Value error = nn::dense(x, w, {}) - y;
              builder.returns("spread", nn::mean(error));
              return nn::mean(error * error * 10.0);
            }};
  }
  float weight() const { return session.parameters().get("w").data<float>()[0]; }

  Tensor x{DType::f32, Shape{kRows, 1}}, y{DType::f32, Shape{kRows, 1}};
  mutable Session session{{.compute_threads = 1}};
  Model model{session, network()};
  FunctionFeed feed{[this](Program& program) {
    program.bind("x", x);
    program.bind("y", y);
    return true;
  }};
};

}  // namespace ridgeline::train
