#include "tests/graph/op_rows.h"

#include <algorithm>
#include <numeric>

#include "ridgeline/core/random.h"

namespace ridgeline::test {
namespace {

using Integers = std::vector<std::int64_t>;

OperandSpec at(Shape shape, Fill fill = Fill::uniform) { return {std::move(shape), fill}; }
OperandSpec labels(std::int64_t rows, std::int64_t classes) { return {{rows}, Fill::integers, DType::i32, classes}; }
OperandSpec bytes(Shape shape, std::int64_t limit) { return {std::move(shape), Fill::integers, DType::u8, limit}; }
OperandSpec truth(Shape shape) { return {std::move(shape), Fill::integers, DType::boolean, 2}; }

Integers ints(std::initializer_list<std::int64_t> values) { return values; }

void add_pointwise(std::vector<OpRow>& rows) {
  for (const char* op : {"add", "sub", "mul", "div"}) {
    rows.push_back({op, {at({3, 4}), at({3, 4}, Fill::off_zero)}, {}, {{3, 4}}});
    rows.push_back({op, {at({3, 4}), at({4}, Fill::off_zero)}, {}, {{3, 4}}});
    rows.push_back({op, {at({}), at({2, 3}, Fill::off_zero)}, {}, {{2, 3}}});
    rows.push_back({op, {at({2, 1, 3}), at({5, 1}, Fill::off_zero)}, {}, {{2, 5, 3}}});
    rows.push_back({op, {at({1}), at({1, 1}, Fill::off_zero)}, {}, {{1, 1}}});
  }
  for (const char* op : {"maximum", "minimum"}) {
    rows.push_back({op, {at({3, 4}), at({3, 4})}, {}, {{3, 4}}});
    rows.push_back({op, {at({2, 3, 4}), at({3, 1})}, {}, {{2, 3, 4}}});
  }
  for (const char* op : {"neg", "abs", "relu"}) rows.push_back({op, {at({2, 7}, Fill::off_zero)}, {}, {{2, 7}}});
  for (const char* op : {"exp", "cos", "sin"}) rows.push_back({op, {at({2, 7})}, {}, {{2, 7}}});
  for (const char* op : {"relu6", "sigmoid", "tanh", "silu", "gelu"}) {
    rows.push_back({op, {at({2, 7}, Fill::off_zero)}, {}, {{2, 7}}});
  }
  rows.push_back({"gelu", {at({2, 7})}, {{"approximate", std::string("tanh")}}, {{2, 7}}});
  rows.push_back({"relu6_grad", {at({3, 5}, Fill::off_zero), at({3, 5})}, {}, {{3, 5}}});
  for (const char* op : {"sigmoid_grad", "tanh_grad", "silu_grad", "gelu_grad"}) {
    rows.push_back({op, {at({3, 5}), at({3, 5})}, {}, {{3, 5}}, Gradient::refused});
  }
  rows.push_back(
      {"gelu_grad", {at({3, 5}), at({3, 5})}, {{"approximate", std::string("tanh")}}, {{3, 5}}, Gradient::refused});
  for (const char* op : {"log", "sqrt"}) rows.push_back({op, {at({2, 7}, Fill::positive)}, {}, {{2, 7}}});
  rows.push_back({"floor", {at({9})}, {}, {{9}}, Gradient::none});
  rows.push_back({"relu_grad", {at({3, 5}, Fill::off_zero), at({3, 5})}, {}, {{3, 5}}});
  for (const char* op : {"less", "less_equal", "equal"}) {
    rows.push_back({op, {at({3, 4}), at({4})}, {}, {{3, 4}}, Gradient::none});
  }
  rows.push_back({"select", {truth({3, 4}), at({3, 4}), at({3, 4})}, {}, {{3, 4}}});
  rows.push_back({"select", {truth({4}), at({3, 1}), at({})}, {}, {{3, 4}}});
  rows.push_back({"cast", {at({3, 4})}, {{"to", DType::f64}}, {{3, 4}}});
  rows.push_back({"cast", {labels(6, 5)}, {{"to", DType::f32}}, {{6}}, Gradient::none});
  rows.push_back({"scale", {at({3, 4})}, {{"factor", -2.5}}, {{3, 4}}});
  rows.push_back({"constant", {}, {{"value", 1.5}, {"dtype", DType::f64}}, {{}}, Gradient::none});
  const OperandSpec step{{}, Fill::integers, DType::i64, 1000};
  rows.push_back({"dropout", {at({4, 9}), step}, {{"keep_prob", 0.65}, {"key", std::int64_t{1234567}}}, {{4, 9}}});
  rows.push_back({"dropout", {at({4, 9}), step}, {{"keep_prob", 1.0}, {"key", std::int64_t{7}}}, {{4, 9}}});
  rows.push_back({"sgd", {at({3, 4}), at({3, 4}), at({})}, {{"weight_decay", 0.01}}, {{3, 4}}, Gradient::refused});
  rows.push_back(
      {"sgd", {at({3, 4}), at({3, 4}), at({}), truth({})}, {{"conditional", true}}, {{3, 4}}, Gradient::refused});
  const OperandSpec square = at({3, 4}, Fill::positive), root = at({}, Fill::positive);
  for (bool decoupled : {false, true}) {
    rows.push_back(
        {"adam",
         {at({3, 4}), at({3, 4}), square, at({3, 4}), at({}), at({}), root},
         {{"beta1", 0.9}, {"beta2", 0.99}, {"epsilon", 1e-3}, {"decoupled", decoupled}, {"weight_decay", 0.01}},
         {{3, 4}, {3, 4}, {3, 4}},
         Gradient::refused});
  }
  rows.push_back({"rmsprop",
                  {at({3, 4}), square, at({3, 4}), at({})},
                  {{"rho", 0.9}, {"epsilon", 1e-3}, {"weight_decay", 0.01}},
                  {{3, 4}, {3, 4}},
                  Gradient::refused});
  rows.push_back({"rmsprop_momentum",
                  {at({3, 4}), square, at({3, 4}), at({3, 4}), at({})},
                  {{"rho", 0.9}, {"epsilon", 1e-3}, {"momentum", 0.8}},
                  {{3, 4}, {3, 4}, {3, 4}},
                  Gradient::refused});
  for (bool nesterov : {false, true}) {
    rows.push_back({"sgd_momentum",
                    {at({3, 4}), at({3, 4}), at({3, 4}), at({})},
                    {{"momentum", 0.9}, {"nesterov", nesterov}, {"weight_decay", 0.01}},
                    {{3, 4}, {3, 4}},
                    Gradient::refused});
  }
  rows.push_back({"update_group",
                  {at({3}), at({3}), at({5}), at({5}), at({3}), at({5}), at({})},
                  {{"expression", std::string("x0 - x3 * (x1 + x2); x1 + x2")}},
                  {{3}, {3}, {5}, {5}},
                  Gradient::refused,
                  {0},
                  true});
  rows.push_back(
      {"update_group",
       {at({3, 2}), at({3, 2}), at({5}), at({5}), at({3, 2}), at({5}), at({})},
       {{"expression", std::string("t0 = x0 - x3 * (x1 + x2); t0; x1 + x2; t0 : bf16")}, {"copies", std::int64_t{1}}},
       {{3, 2}, {3, 2}, {5}, {5}, {3, 2}, {5}},
       Gradient::refused,
       {0},
       true});
  const std::string rule = "x0 - x3 * (x1 + x2); x1 + x2";
  const std::vector<OperandSpec> states_x_dy_rate = {at({3, 4}), at({3, 4}), at({5, 4}), at({5, 3}), at({})};
  rows.push_back({"dense_update",
                  states_x_dy_rate,
                  {{"states", std::int64_t{2}}, {"expression", rule}},
                  {{3, 4}, {3, 4}},
                  Gradient::refused,
                  {0},
                  true});
  rows.push_back({"dense_update",
                  states_x_dy_rate,
                  {{"states", std::int64_t{2}},
                   {"expression", rule + "; x0 - x3 * (x1 + x2) : bf16"},
                   {"bias", true},
                   {"squares", true}},
                  {{3, 4}, {3, 4}, {3}, {}, {3, 4}},
                  Gradient::refused,
                  {0},
                  true});
  rows.push_back({"loop",
                  {at({3, 4}), at({4}), at({})},
                  {{"expression", std::string("max(x0 + x1, 0) * x2; sum(x0)")}},
                  {{3, 4}, {}},
                  Gradient::refused,
                  {0},
                  true});
}

// Groups of one rank, since references do not have the values of other ranks.
void add_collectives(std::vector<OpRow>& rows) {
  const Attributes alone = {{"ranks", std::int64_t{1}}};
  for (const char* op : {"all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all"})
    rows.push_back({op, {at({3, 4})}, alone, {{3, 4}}});
  rows.push_back({"transfer", {at({3, 4})}, alone, {{3, 4}}, Gradient::refused});
  rows.push_back({"all_reduce", {at({})}, {{"ranks", std::int64_t{1}}, {"reduction", std::string("mean")}}, {{}}});
  const auto start = [](const char* collective, bool conditional) {
    return Attributes{
        {"collective", std::string(collective)}, {"ranks", std::int64_t{1}}, {"conditional", conditional}};
  };
  rows.push_back({"collective_start", {at({3, 4})}, start("all_gather", false), {{3, 4}}, Gradient::refused});
  rows.push_back({"collective_done",
                  {at({2, 5})},
                  {{"shapes", ints({2, 2, 5})}, {"ranks", std::int64_t{1}}},
                  {{2, 5}},
                  Gradient::refused});
}

Attributes window(Integers stride, Integers pad, Integers dilation, std::int64_t groups) {
  return {{"stride", stride}, {"pad", pad}, {"dilation", dilation}, {"groups", groups}};
}
Attributes with(Attributes attributes, const std::string& name, Attribute value) {
  attributes.set(name, std::move(value));
  return attributes;
}

void add_layers(std::vector<OpRow>& rows) {
  const Attributes plain = window({1, 1}, {0, 0, 0, 0}, {1, 1}, 1);
  rows.push_back({"conv2d", {at({2, 5, 6, 3}), at({4, 3, 3, 3})}, {}, {{2, 3, 4, 4}}});
  rows.push_back({"conv2d",
                  {at({2, 5, 5, 3}), at({4, 3, 3, 3}), at({4})},
                  window({1, 1}, {1, 1, 1, 1}, {1, 1}, 1),
                  {{2, 5, 5, 4}}});
  rows.push_back({"conv2d",
                  {at({1, 9, 8, 4}), at({6, 3, 2, 2}), at({6})},
                  window({2, 3}, {0, 2, 1, 0}, {2, 1}, 2),
                  {{1, 4, 3, 6}}});
  rows.push_back(
      {"conv2d", {at({1, 6, 6, 3}), at({6, 3, 3, 1})}, window({2, 2}, {1, 1, 1, 1}, {1, 1}, 3), {{1, 3, 3, 6}}});
  rows.push_back({"conv2d", {at({2, 3, 3, 5}), at({2, 1, 1, 5}), at({2})}, plain, {{2, 3, 3, 2}}});
  rows.push_back({"conv2d",
                  {at({1, 7, 7, 2}), at({3, 5, 5, 2}), at({3})},
                  with(window({4, 4}, {2, 2, 2, 2}, {1, 1}, 1), "activation", std::string("relu")),
                  {{1, 2, 2, 3}}});
  rows.push_back({"conv2d",
                  {at({1, 4, 5, 3}), at({4, 3, 3, 3}), at({4}), at({1, 2, 3, 4})},
                  with(plain, "activation", std::string("relu")),
                  {{1, 2, 3, 4}}});
  rows.push_back({"conv2d_max_pool",
                  {at({2, 7, 6, 3}), at({4, 3, 3, 3}), at({4})},
                  {{"pad", ints({1, 1, 1, 1})},
                   {"activation", std::string("relu")},
                   {"pool_kernel", ints({3, 3})},
                   {"pool_stride", ints({2, 2})}},
                  {{2, 3, 2, 4}, {2, 3, 2, 4}},
                  Gradient::refused});
  rows.push_back({"conv2d_max_pool",
                  {at({1, 9, 8, 4}), at({6, 3, 2, 2})},
                  {{"stride", ints({2, 1})},
                   {"groups", std::int64_t{2}},
                   {"pool_kernel", ints({2, 3})},
                   {"pool_stride", ints({1, 2})},
                   {"pool_pad", ints({1, 0, 0, 1})}},
                  {{1, 4, 3, 6}, {1, 4, 3, 6}},
                  Gradient::refused});
  rows.push_back({"conv2d_bwd_data",
                  {at({1, 4, 3, 6}), at({6, 3, 2, 2})},
                  with(window({2, 3}, {0, 2, 1, 0}, {2, 1}, 2), "input", ints({1, 9, 8, 4})),
                  {{1, 9, 8, 4}}});
  rows.push_back({"conv2d_bwd_data",
                  {at({2, 3, 4, 4}), at({4, 3, 3, 3}), at({2, 5, 6, 3}, Fill::off_zero)},
                  with(plain, "input", ints({2, 5, 6, 3})),
                  {{2, 5, 6, 3}},
                  Gradient::refused});
  // Windows that do not overlap: the gradient of the pool is rounded separately.
  rows.push_back({"conv2d_max_pool_bwd_data",
                  {at({2, 3, 3, 4}), bytes({2, 3, 3, 4}, 4), at({4, 3, 3, 3}), at({2, 7, 6, 3}, Fill::off_zero)},
                  {{"pad", ints({1, 1, 1, 1})},
                   {"input", ints({2, 7, 6, 3})},
                   {"pool_kernel", ints({2, 2})},
                   {"pool_stride", ints({2, 2})}},
                  {{2, 7, 6, 3}},
                  Gradient::refused});
  rows.push_back({"conv2d_max_pool_bwd_weights",
                  {at({1, 9, 8, 4}), at({1, 2, 2, 6}), bytes({1, 2, 2, 6}, 6)},
                  {{"stride", ints({2, 1})},
                   {"groups", std::int64_t{2}},
                   {"kernel", ints({3, 2})},
                   {"bias", true},
                   {"pool_kernel", ints({2, 3})},
                   {"pool_stride", ints({2, 3})}},
                  {{6, 3, 2, 2}, {6}},
                  Gradient::refused});
  rows.push_back({"conv2d_bwd_weights",
                  {at({1, 9, 8, 4}), at({1, 4, 3, 6})},
                  with(window({2, 3}, {0, 2, 1, 0}, {2, 1}, 2), "kernel", ints({3, 2})),
                  {{6, 3, 2, 2}},
                  Gradient::refused});
  rows.push_back({"conv2d_bwd_weights",
                  {at({2, 5, 6, 3}), at({2, 3, 4, 4})},
                  with(with(plain, "kernel", ints({3, 3})), "bias", true),
                  {{4, 3, 3, 3}, {4}},
                  Gradient::refused});

  rows.push_back({"dense", {at({3, 5}), at({4, 5})}, {}, {{3, 4}}});
  rows.push_back({"dense", {at({3, 5}), at({4, 5}), at({4})}, {}, {{3, 4}}});
  rows.push_back({"dense", {at({3, 5}), at({4, 5}), at({4})}, {{"activation", std::string("relu")}}, {{3, 4}}});
  rows.push_back({"dense", {at({3, 5}), at({4, 5}), at({4}), at({3, 4})}, {}, {{3, 4}}});
  rows.push_back({"dense_bwd_data", {at({3, 4}), at({4, 5})}, {}, {{3, 5}}, Gradient::refused});
  rows.push_back({"dense_bwd_weights", {at({3, 5}), at({3, 4})}, {}, {{4, 5}}, Gradient::refused});
  rows.push_back({"dense_bwd_weights", {at({3, 5}), at({3, 4})}, {{"bias", true}}, {{4, 5}, {4}}, Gradient::refused});

  const auto pool = [](Integers kernel, Integers stride, Integers pad) {
    return Attributes{{"kernel", kernel}, {"stride", stride}, {"pad", pad}};
  };
  const Attributes overlapping = pool({3, 3}, {2, 2}, {0, 0, 0, 0});
  const Attributes padded = pool({3, 2}, {2, 1}, {1, 0, 0, 1});
  rows.push_back({"max_pool", {at({2, 7, 7, 2}, Fill::spread)}, overlapping, {{2, 3, 3, 2}, {2, 3, 3, 2}}});
  rows.push_back({"max_pool", {at({1, 5, 4, 3}, Fill::spread)}, padded, {{1, 2, 4, 3}, {1, 2, 4, 3}}});
  rows.push_back(
      {"max_pool", {at({1, 6, 5, 3}, Fill::spread)}, pool({2, 2}, {2, 2}, {0, 0, 0, 0}), {{1, 3, 2, 3}, {1, 3, 2, 3}}});
  rows.push_back({"max_pool_bwd",
                  {at({2, 3, 3, 2}), bytes({2, 3, 3, 2}, 9)},
                  with(overlapping, "input", ints({2, 7, 7, 2})),
                  {{2, 7, 7, 2}},
                  Gradient::refused});
  for (bool include : {true, false}) {
    rows.push_back({"avg_pool", {at({1, 5, 4, 3})}, with(padded, "count_include_pad", include), {{1, 2, 4, 3}}});
    rows.push_back({"avg_pool_bwd",
                    {at({1, 2, 4, 3})},
                    with(with(padded, "count_include_pad", include), "input", ints({1, 5, 4, 3})),
                    {{1, 5, 4, 3}},
                    Gradient::refused});
  }
  rows.push_back({"avg_pool", {at({2, 7, 7, 2})}, overlapping, {{2, 3, 3, 2}}});

  // A large alpha, so that the normalisation matters.
  const Attributes strong{{"size", std::int64_t{5}}, {"alpha", 2.0}, {"beta", 0.75}, {"bias", 1.5}};
  rows.push_back({"lrn", {at({2, 2, 2, 7})}, strong, {{2, 2, 2, 7}}});
  rows.push_back({"lrn", {at({3, 2})}, strong, {{3, 2}}});
  rows.push_back({"lrn", {at({1, 2, 1, 9})}, {}, {{1, 2, 1, 9}}});
  rows.push_back({"lrn_bwd", {at({2, 2, 2, 7}), at({2, 2, 2, 7})}, strong, {{2, 2, 2, 7}}, Gradient::refused});

  const OperandSpec c3 = at({3}), v3 = at({3}, Fill::positive);
  rows.push_back({"batch_norm_train", {at({2, 3, 3, 3}), v3, c3, c3, v3}, {}, {{2, 3, 3, 3}, {3}, {3}, {3}, {3}}});
  rows.push_back({"batch_norm_train",
                  {at({5, 3}), v3, c3, c3, v3},
                  {{"momentum", 0.3}, {"epsilon", 1e-2}},
                  {{5, 3}, {3}, {3}, {3}, {3}}});
  const OperandSpec image = at({2, 3, 3, 3});
  const Attributes with_relu{{"activation", std::string("relu")}};
  const Attributes with_relu6{{"activation", std::string("relu6")}};
  rows.push_back({"batch_norm_train", {image, v3, c3, c3, v3, image}, with_relu, {{2, 3, 3, 3}, {3}, {3}, {3}, {3}}});
  rows.push_back({"batch_norm_train", {image, v3, c3, c3, v3}, with_relu6, {{2, 3, 3, 3}, {3}, {3}, {3}, {3}}});
  rows.push_back({"batch_norm_bwd", {image, image, v3, c3, v3}, {}, {{2, 3, 3, 3}, {3}, {3}}, Gradient::refused});
  rows.push_back({"batch_norm_bwd",
                  {image, image, v3, c3, v3, c3},
                  {{"gate", std::string("of_x")}},
                  {{2, 3, 3, 3}, {3}, {3}},
                  Gradient::refused});
  rows.push_back({"batch_norm_bwd",
                  {image, image, v3, c3, v3, c3},
                  {{"gate", std::string("of_x")}, {"ceiling", 0.75}, {"passed", true}},
                  {{2, 3, 3, 3}, {3}, {3}, {2, 3, 3, 3}},
                  Gradient::refused});
  rows.push_back({"batch_norm_bwd",
                  {image, image, v3, c3, v3, image, image},
                  {{"gate", std::string("of_y")}, {"addend", true}, {"passed", true}},
                  {{2, 3, 3, 3}, {3}, {3}, {2, 3, 3, 3}},
                  Gradient::refused});
  rows.push_back({"batch_norm_eval", {image, v3, c3, c3, v3}, {}, {{2, 3, 3, 3}}});
  rows.push_back({"batch_norm_eval", {image, v3, c3, c3, v3, image}, with_relu, {{2, 3, 3, 3}}});
  rows.push_back({"batch_norm_eval", {image, v3, c3, c3, v3, image}, with_relu6, {{2, 3, 3, 3}}});
  rows.push_back({"batch_norm_eval", {image, v3, c3, c3, v3}, {{"var_is_inv_std", true}}, {{2, 3, 3, 3}}});
}

void add_shapes(std::vector<OpRow>& rows) {
  for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max"}) {
    rows.push_back({op, {at({2, 3, 4}, Fill::spread)}, {}, {{}}});
    rows.push_back({op, {at({2, 3, 4}, Fill::spread)}, {{"axes", ints({1})}}, {{2, 4}}});
    rows.push_back({op, {at({2, 3, 4}, Fill::spread)}, {{"axes", ints({2, 0})}, {"keep_dims", true}}, {{1, 3, 1}}});
    rows.push_back({op, {at({2, 3, 3, 4}, Fill::spread)}, {{"axes", ints({1, 2})}}, {{2, 4}}});
    rows.push_back({op, {at({})}, {}, {{}}});
  }
  rows.push_back({"reshape", {at({2, 6})}, {{"shape", ints({3, 2, 2})}}, {{3, 2, 2}}});
  for (const char* order : {"hwc", "chw"}) {
    rows.push_back({"flatten", {at({2, 2, 3, 4})}, {{"order", std::string(order)}}, {{2, 24}}});
    rows.push_back(
        {"unflatten", {at({2, 24})}, {{"order", std::string(order)}, {"shape", ints({2, 2, 3, 4})}}, {{2, 2, 3, 4}}});
  }
  rows.push_back({"transpose", {at({2, 3, 4, 5})}, {{"permutation", ints({3, 0, 2, 1})}}, {{5, 2, 4, 3}}});
  rows.push_back({"transpose", {at({2, 3})}, {{"permutation", ints({1, 0})}}, {{3, 2}}});
  rows.push_back({"broadcast_to", {at({3, 1})}, {{"shape", ints({2, 3, 4})}}, {{2, 3, 4}}});
  rows.push_back({"broadcast_to", {at({})}, {{"shape", ints({5})}}, {{5}}});
  rows.push_back({"pad", {at({2, 3})}, {{"low", ints({1, 0})}, {"high", ints({0, 2})}, {"value", 0.5}}, {{3, 5}}});
  rows.push_back({"pad", {at({4, 5})}, {{"low", ints({-1, 2})}, {"high", ints({-1, -3})}}, {{2, 4}}});
  rows.push_back({"strided_slice",
                  {at({1, 5, 6, 2})},
                  {{"start", ints({0, 1, 0, 1})}, {"stride", ints({1, 2, 3, 1})}, {"size", ints({1, 2, 2, 1})}},
                  {{1, 2, 2, 1}}});
  rows.push_back({"strided_slice_bwd",
                  {at({1, 2, 2, 1})},
                  {{"start", ints({0, 1, 0, 1})}, {"stride", ints({1, 2, 3, 1})}, {"input", ints({1, 5, 6, 2})}},
                  {{1, 5, 6, 2}}});
  rows.push_back({"concat", {at({2, 3, 4}), at({2, 1, 4}), at({2, 2, 4})}, {{"axis", std::int64_t{1}}}, {{2, 6, 4}}});
  rows.push_back({"concat", {at({3, 4}), at({3, 5})}, {{"axis", std::int64_t{-1}}}, {{3, 9}}});
  rows.push_back({"concat", {at({5})}, {{"axis", std::int64_t{0}}}, {{5}}});
  rows.push_back({"split",
                  {at({2, 6, 3})},
                  {{"axis", std::int64_t{1}}, {"sizes", ints({1, 3, 2})}},
                  {{2, 1, 3}, {2, 3, 3}, {2, 2, 3}},
                  Gradient::checked,
                  {0, 2}});
  rows.push_back({"split",
                  {at({4, 9})},
                  {{"axis", std::int64_t{-1}}, {"sizes", ints({5, 4})}},
                  {{4, 5}, {4, 4}},
                  Gradient::checked,
                  {0, 1}});
}

// Matrix products, table rows, and norms of samples.
void add_sequences(std::vector<OpRow>& rows) {
  const auto turned = [](bool a, bool b) { return Attributes{{"transpose_a", a}, {"transpose_b", b}}; };
  rows.push_back({"matmul", {at({3, 5}), at({5, 4})}, {}, {{3, 4}}});
  rows.push_back({"matmul", {at({5, 3}), at({4, 5})}, turned(true, true), {{3, 4}}});
  rows.push_back({"matmul", {at({2, 3, 4, 5}), at({2, 3, 6, 5})}, turned(false, true), {{2, 3, 4, 6}}});
  rows.push_back({"matmul", {at({2, 5, 3}), at({2, 5, 4})}, turned(true, false), {{2, 3, 4}}});
  rows.push_back({"matmul", {at({2, 3, 5}), at({5, 4})}, {}, {{2, 3, 4}}});
  rows.push_back({"matmul", {at({2, 3, 5}), at({4, 5})}, turned(false, true), {{2, 3, 4}}});
  rows.push_back({"matmul", {at({3, 5}), at({2, 5, 4})}, {}, {{2, 3, 4}}});
  rows.push_back({"matmul", {at({2, 1, 3, 5}), at({4, 5, 2})}, {}, {{2, 4, 3, 2}}});
  const OperandSpec numbers{{2, 3}, Fill::integers, DType::i32, 5};
  rows.push_back({"gather", {at({5, 4}), numbers}, {}, {{2, 3, 4}}});
  rows.push_back({"gather", {at({2, 5, 3}), labels(4, 5)}, {{"axis", std::int64_t{1}}}, {{2, 4, 3}}});
  rows.push_back({"gather_bwd", {at({2, 3, 4}), numbers}, {{"input", ints({5, 4})}}, {{5, 4}}});
  rows.push_back({"gather_bwd",
                  {at({2, 4, 3}), labels(4, 5)},
                  {{"axis", std::int64_t{1}}, {"input", ints({2, 5, 3})}},
                  {{2, 5, 3}}});

  const Attributes two{{"groups", std::int64_t{2}}};
  rows.push_back({"layer_norm", {at({3, 4, 6}), at({6}, Fill::positive), at({6})}, {}, {{3, 4, 6}, {3, 4}, {3, 4}}});
  rows.push_back({"layer_norm",
                  {at({3, 4, 6}), at({4, 6}, Fill::positive), at({4, 6})},
                  {{"epsilon", 1e-3}},
                  {{3, 4, 6}, {3}, {3}}});
  rows.push_back(
      {"group_norm", {at({2, 3, 3, 4}), at({4}, Fill::positive), at({4})}, two, {{2, 3, 3, 4}, {2, 2}, {2, 2}}});
  rows.push_back({"group_norm", {at({3, 6}), at({6}, Fill::positive), at({6})}, two, {{3, 6}, {3, 2}, {3, 2}}});
  rows.push_back({"layer_norm_bwd",
                  {at({3, 4, 6}), at({3, 4, 6}), at({6}, Fill::positive), at({3, 4}), at({3, 4}, Fill::positive)},
                  {},
                  {{3, 4, 6}, {6}, {6}},
                  Gradient::refused});
  rows.push_back({"group_norm_bwd",
                  {at({2, 3, 3, 4}), at({2, 3, 3, 4}), at({4}, Fill::positive), at({2, 2}), at({2, 2}, Fill::positive)},
                  two,
                  {{2, 3, 3, 4}, {4}, {4}},
                  Gradient::refused});
}

void add_losses(std::vector<OpRow>& rows) {
  rows.push_back({"softmax", {at({3, 5})}, {}, {{3, 5}}});
  rows.push_back({"softmax", {at({2, 5, 3})}, {{"axis", std::int64_t{1}}}, {{2, 5, 3}}});
  rows.push_back({"softmax", {at({2, 2, 3, 4})}, {}, {{2, 2, 3, 4}}});
  rows.push_back({"softmax_bwd", {at({3, 5}, Fill::positive), at({3, 5})}, {}, {{3, 5}}, Gradient::refused});
  rows.push_back({"softmax_bwd",
                  {at({2, 5, 3}, Fill::positive), at({2, 5, 3})},
                  {{"axis", std::int64_t{1}}},
                  {{2, 5, 3}},
                  Gradient::refused});
  const OperandSpec logits = at({4, 5}), mask = at({4}, Fill::half_mask), shares = at({4, 5}, Fill::positive);
  for (double smoothing : {0.0, 0.1}) {
    const Attributes attributes{{"label_smoothing", smoothing}};
    rows.push_back({"softmax_cross_entropy", {logits, labels(4, 5)}, attributes, {{4}, {4, 5}}});
    rows.push_back({"softmax_cross_entropy", {logits, labels(4, 5), mask}, attributes, {{4}, {4, 5}}});
    rows.push_back(
        {"softmax_cross_entropy", {logits, labels(4, 5), mask}, attributes, {{4}, {4, 5}}, Gradient::checked, {0, 1}});
    rows.push_back({"softmax_cross_entropy", {logits, shares}, attributes, {{4}, {4, 5}}});
    rows.push_back({"softmax_cross_entropy", {logits, shares, mask}, attributes, {{4}, {4, 5}}});
    rows.push_back({"softmax_cross_entropy_bwd",
                    {at({4, 5}, Fill::positive), shares, at({4}), mask},
                    attributes,
                    {{4, 5}},
                    Gradient::refused});
    rows.push_back({"softmax_cross_entropy_bwd",
                    {at({4, 5}, Fill::positive), labels(4, 5), at({4})},
                    attributes,
                    {{4, 5}},
                    Gradient::refused});
    rows.push_back({"softmax_cross_entropy_bwd",
                    {at({4, 5}, Fill::positive), labels(4, 5), at({4}), mask},
                    attributes,
                    {{4, 5}},
                    Gradient::refused});
  }
  for (std::int64_t k : {1, 3}) {
    rows.push_back({"top_k_accuracy", {logits, labels(4, 5)}, {{"k", k}}, {{}}, Gradient::none});
    rows.push_back({"top_k_accuracy", {logits, labels(4, 5), mask}, {{"k", k}}, {{}}, Gradient::none});
  }
  rows.push_back({"argmax_accuracy", {logits, labels(4, 5)}, {}, {{}}, Gradient::none});
  rows.push_back({"argmax_accuracy", {logits, labels(4, 5), mask}, {}, {{}}, Gradient::none});
  rows.push_back({"l2_penalty", {at({3, 4}), at({5}), at({2, 1, 2})}, {{"factor", 0.3}}, {{}}});
  const Attributes imagenet{{"mean", std::vector<double>{0.485, 0.456, 0.406}},
                            {"std", std::vector<double>{0.229, 0.224, 0.225}}};
  rows.push_back({"image_tail", {bytes({2, 3, 4, 3}, 256)}, imagenet, {{2, 3, 4, 3}}, Gradient::none});
  rows.push_back({"image_tail", {bytes({2, 3, 4, 3}, 256), bytes({2}, 2)}, imagenet, {{2, 3, 4, 3}}, Gradient::none});
}

}  // namespace

Tensor make_operand(const OperandSpec& spec, DType floating, std::uint64_t salt) {
  const PhiloxKey key = philox_key(salt, "op rows");
  Tensor tensor(spec.fill == Fill::integers ? spec.dtype : floating, spec.shape);
  const std::int64_t count = tensor.elements();
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  SampleRandom random(key, 0, 0);
  for (std::int64_t i = count - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.integer(0, i))]);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const double u = random.uniform();
    double v = 2 * u - 1;
    if (spec.fill == Fill::positive) v = 0.5 + 1.5 * u;
    if (spec.fill == Fill::off_zero) v = v < 0 ? v * 0.8 - 0.2 : v * 0.8 + 0.2;
    if (spec.fill == Fill::spread)
      v = 0.1 * static_cast<double>(order[static_cast<std::size_t>(i)] - count / 2) + 0.05 * u;
    if (spec.fill == Fill::integers) v = static_cast<double>(random.integer(0, spec.limit - 1));
    if (spec.fill == Fill::half_mask) v = static_cast<double>(i % 2);
    // Floating values that are exact in f32, so that both precisions get the same numbers.
    tensor.set(i, static_cast<double>(static_cast<float>(v)));
  }
  return tensor;
}

const std::vector<OpRow>& op_rows() {
  static const std::vector<OpRow> rows = [] {
    std::vector<OpRow> all;
    add_pointwise(all);
    add_layers(all);
    add_shapes(all);
    add_sequences(all);
    add_losses(all);
    add_collectives(all);
    return all;
  }();
  return rows;
}

}  // namespace ridgeline::test
