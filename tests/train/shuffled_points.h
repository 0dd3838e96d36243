// tests/train/shuffled_points.h
//
// Data in random order, and a network with random weights and dropout: everything that a seed determines in a training.
#pragma once

#include "ridgeline/data/data.h"
#include "ridgeline/nn/layers.h"
#include "tests/train/line_model.h"

namespace ridgeline::train {

inline constexpr std::int64_t kPoints = 32;

inline data::Dataset shuffled_rows(float slope = 3) {
  Tensor x(DType::f32, Shape{kPoints, 1}), y(DType::f32, Shape{kPoints, 1});
  for (std::int64_t i = 0; i < kPoints; ++i) {
    x.data<float>()[i] = static_cast<float>(i) / kPoints;
    y.data<float>()[i] = slope * x.data<float>()[i];
  }
  return data::InMemory({{"x", x}, {"y", y}}).shuffle();
}
inline data::Dataset shuffled_points(float slope = 3) { return shuffled_rows(slope).batch(LineModel::kRows); }

// Random weights, and dropout between two layers.
inline nn::Network dropping_network() {
  return {.name = "dropping", .loss = [](nn::ModelContext& context) {
            const Value x = context.builder.input("x", {DType::f32, {LineModel::kRows, 1}});
            const Value y = context.builder.input("y", {DType::f32, {LineModel::kRows, 1}});
            Value h = nn::dense_layer(context, x, {.name = "hidden", .out = 64});
            h = nn::dropout_layer(context, h, "drop", 0.5);
            const Value error = nn::dense_layer(context, h, {.name = "out", .out = 1}) - y;
            return nn::mean(error * error);
          }};
}

}  // namespace ridgeline::train
