// ridgeline/nn/network.h
//
// What is trained, as three functions that build graphs: the loss of a batch, what an evaluation counts, what a
// prediction returns. A plain value; a network of one's own is:
//
//   nn::Network net{.name = "line", .loss = [](nn::ModelContext& c) {
//     const Value x = c.builder.input("x", {DType::f32, {8, 1}});
//     ...
//     return mean(...);
//   }};
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ridgeline/nn/module.h"

namespace ridgeline::nn {

// An input of a step and the column of a batch that it is fed from.
struct InputColumn {
  std::string input;
  std::string column;
};

struct Network {
  std::string name;
  // Each declares its inputs and parameters in the context; parameters of one name are one parameter. The loss is
  // f32[], of the batch; what else the function lets the builder return can be read after each step.
  std::function<Value(ModelContext&)> loss;
  // Returns sums over the rows of the batch, f32[], and under kRowsResult the number of rows: a sum divided by that is
  // the result of an evaluation. What it returns of rank 1 or more has a row for each of the batch: metrics read it.
  // Empty: the network cannot be evaluated; likewise for predictions.
  std::function<void(ModelContext&)> evaluate = {};
  std::function<void(ModelContext&)> predict = {};
  // Inputs that are not listed are fed from the column of their own name.
  std::vector<InputColumn> columns = {};
};

inline constexpr const char* kRowsResult = "rows";

}  // namespace ridgeline::nn
