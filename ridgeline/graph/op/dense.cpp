#include "ridgeline/graph/op/dense.h"

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

bool with_relu(const Attributes& attributes) {
  const std::string& activation = attributes.string("activation");
  if (activation != "none" && activation != "relu") {
    fail("dense", "unknown activation '" + activation + "' (allowed: none, relu)");
  }
  return activation == "relu";
}

void expect_matrices(std::string_view op, const OpInstance& instance, std::string_view first, std::string_view second) {
  expect_one_floating_dtype(op, instance.inputs.first(2));
  expect_rank(op, first, instance.inputs[0], 2);
  expect_rank(op, second, instance.inputs[1], 2);
}

// c[i,j] = sum over l of a(i,l) * b(j,l), the operands read with the given strides (row, summed axis).
struct Strided {
  const std::vector<double>& data;
  std::size_t row;
  std::size_t step;
};
std::vector<double> product(const Strided& a, const Strided& b, std::int64_t rows, std::int64_t columns,
                            std::int64_t length) {
  std::vector<double> c(static_cast<std::size_t>(rows * columns));
  std::size_t at = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(columns); ++j, ++at) {
      double sum = 0;
      for (std::size_t l = 0; l < static_cast<std::size_t>(length); ++l) {
        sum += a.data[i * a.row + l * a.step] * b.data[j * b.row + l * b.step];
      }
      c[at] = sum;
    }
  }
  return c;
}

// Multiply-adds are rows of x times elements of w, in all three ops.
Cost cost_with(const OpInstance& op, std::span<const ValueType> results, double rows, double weights) {
  return {2.0 * rows * weights, bytes_moved(op, results)};
}

std::vector<ValueType> infer_dense(const OpInstance& op) {
  expect_matrices("dense", op, "x", "weight");
  const Shape& x = op.inputs[0].shape;
  const Shape& w = op.inputs[1].shape;
  if (x[1] != w[1]) {
    fail("dense", "weight " + w.to_string() + " has " + std::to_string(w[1]) + " inputs, x " + x.to_string() + " has " +
                      std::to_string(x[1]) + " columns");
  }
  if (op.inputs.size() >= 3) {
    expect_parameter_dtype("dense", "bias", op.inputs[2], op.inputs[0].dtype);
    expect_shape("dense", "bias", op.inputs[2], {w[0]});
  }
  with_relu(op.attributes);
  const ValueType result{result_dtype("dense", op.attributes, op.inputs[0].dtype), {x[0], w[0]}};
  if (op.inputs.size() == 4) {
    expect_dtype("dense", "addend", op.inputs[3], result.dtype);
    expect_shape("dense", "addend", op.inputs[3], result.shape);
  }
  return {result};
}

void reference_dense(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& x = op.inputs[0].shape;
  const std::int64_t k = op.inputs[1].shape[0];
  const auto c = static_cast<std::size_t>(x[1]);
  std::vector<double> y = product({widen(inputs[0]), c, 1}, {widen(inputs[1]), c, 1}, x[0], k, x[1]);
  if (inputs.size() >= 3) {
    const std::vector<double> b = widen(inputs[2]);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += b[i % b.size()];
  }
  if (inputs.size() == 4) {
    const std::vector<double> addend = widen(inputs[3]);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += addend[i];
  }
  if (with_relu(op.attributes)) {
    for (double& v : y) v = v != v || v > 0 ? v : 0;  // as max(v, 0): NaN stays, -0 does not
  }
  store(y, outputs[0]);
}

std::vector<ValueType> infer_dense_bwd_data(const OpInstance& op) {
  expect_matrices("dense_bwd_data", op, "dy", "weight");
  const Shape& dy = op.inputs[0].shape;
  const Shape& w = op.inputs[1].shape;
  if (dy[1] != w[0]) {
    fail("dense_bwd_data", "weight " + w.to_string() + " has " + std::to_string(w[0]) + " outputs, dy " +
                               dy.to_string() + " has " + std::to_string(dy[1]) + " columns");
  }
  return {{result_dtype("dense_bwd_data", op.attributes, op.inputs[0].dtype), {dy[0], w[1]}}};
}

void reference_dense_bwd_data(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& w = op.inputs[1].shape;
  const auto k = static_cast<std::size_t>(w[0]);
  const auto c = static_cast<std::size_t>(w[1]);
  store(product({widen(inputs[0]), k, 1}, {widen(inputs[1]), 1, c}, op.inputs[0].shape[0], w[1], w[0]), outputs[0]);
}

std::vector<ValueType> infer_dense_bwd_weights(const OpInstance& op) {
  expect_matrices("dense_bwd_weights", op, "x", "dy");
  const Shape& x = op.inputs[0].shape;
  const Shape& dy = op.inputs[1].shape;
  if (x[0] != dy[0]) {
    fail("dense_bwd_weights", "x " + x.to_string() + " and dy " + dy.to_string() + " have different numbers of rows");
  }
  const DType dtype = result_dtype("dense_bwd_weights", op.attributes, op.inputs[0].dtype);
  std::vector<ValueType> results = {{dtype, {dy[1], x[1]}}};
  if (op.attributes.boolean("bias")) results.push_back({dtype, Shape{dy[1]}});
  return results;
}

void reference_dense_bwd_weights(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& x = op.inputs[0].shape;
  const Shape& dy = op.inputs[1].shape;
  const std::vector<double> rows = widen(inputs[1]);
  store(product({rows, 1, static_cast<std::size_t>(dy[1])}, {widen(inputs[0]), 1, static_cast<std::size_t>(x[1])},
                dy[1], x[1], x[0]),
        outputs[0]);
  if (outputs.size() == 2) {
    std::vector<double> db(static_cast<std::size_t>(dy[1]), 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) db[i % db.size()] += rows[i];
    store(db, outputs[1]);
  }
}

}  // namespace

std::vector<OpDef> dense_ops() {
  OpDef forward;
  forward.name = "dense";
  forward.formula =
      "y[n,k] = b[k] [+ addend[n,k]] + sum over c of x[n,c] * w[k,c], then the activation; x [N,C], w [K,C]. b may be "
      "f32 if x is bf16 or f16";
  forward.operands = {"x", "w", "b", "addend"};
  forward.min_operands = 2;
  forward.max_operands = 4;
  forward.results = {"y"};
  forward.attributes = {optional("activation", std::string("none"), "none or relu, applied to y"), f32_results()};
  forward.infer = infer_dense;
  forward.reference = reference_dense;
  forward.cost = [](const OpInstance& op, std::span<const ValueType> results) {
    return cost_with(op, results, static_cast<double>(op.inputs[0].shape[0]),
                     static_cast<double>(op.inputs[1].shape.elements()));
  };

  OpDef data;
  data.name = "dense_bwd_data";
  data.formula = "dx[n,c] = sum over k of dy[n,k] * w[k,c]";
  data.operands = {"dy", "w"};
  data.min_operands = data.max_operands = 2;
  data.results = {"dx"};
  data.attributes = {f32_results()};
  data.infer = infer_dense_bwd_data;
  data.reference = reference_dense_bwd_data;
  data.cost = forward.cost;

  OpDef weights;
  weights.name = "dense_bwd_weights";
  weights.formula = "dw[k,c] = sum over n of dy[n,k] * x[n,c]; with bias=true also db[k] = sum over n of dy[n,k]";
  weights.operands = {"x", "dy"};
  weights.min_operands = weights.max_operands = 2;
  weights.results = {"dw", "db"};
  weights.attributes = {optional("bias", false, "whether db is a second result"), f32_results()};
  weights.infer = infer_dense_bwd_weights;
  weights.reference = reference_dense_bwd_weights;
  weights.cost = [](const OpInstance& op, std::span<const ValueType> results) {
    return cost_with(op, results, static_cast<double>(op.inputs[0].shape[0]),
                     static_cast<double>(results[0].shape.elements()));
  };
  return {forward, data, weights};
}

}  // namespace ridgeline
