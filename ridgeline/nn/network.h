// ridgeline/nn/network.h
//
// What is trained, as three functions that build graphs: the loss of a batch, the counts of an evaluation, the results
// of a prediction. A plain value; to write your own:
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

// An input of a step and the column of a batch that feeds it.
struct InputColumn {
  std::string input;
  std::string column;
};

struct Network {
  std::string name;
  // Each declares its inputs and parameters in the context; parameters of one name are one parameter. The loss is
  // f32[], of the batch; other values that the function makes the builder return can be read after each step.
  std::function<Value(ModelContext&)> loss;
  // Returns sums over the rows of the batch, f32[], and as kRowsResult the number of rows: the result of an evaluation
  // is a sum divided by that. Returned values of rank 1 or more have a row for each of the batch: metrics read them.
  // Empty: the network cannot be evaluated; likewise for predictions.
  std::function<void(ModelContext&)> evaluate = {};
  std::function<void(ModelContext&)> predict = {};
  // Inputs that are not listed are fed from the column with the same name.
  std::vector<InputColumn> columns = {};
};

inline constexpr const char* kRowsResult = "rows";

}  // namespace ridgeline::nn
