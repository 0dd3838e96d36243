#include "ridgeline/graph/op/matmul.h"

#include <algorithm>

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

void expect_matrices(const char* what, const ValueType& type) {
  if (type.shape.rank() < 2) fail("matmul", std::string(what) + " must have rows and columns, not " + type.to_string());
}

std::string turned(bool transposed) { return transposed ? " (transposed)" : ""; }

// The axes in front of the matrices of y.
std::vector<std::int64_t> batch_of(const Shape& a, const Shape& b) {
  std::vector<std::int64_t> batch(static_cast<std::size_t>(std::max(a.rank(), b.rank()) - 2), 1);
  for (const Shape* shape : {&a, &b}) {
    for (int back = 3; back <= shape->rank(); ++back) {
      std::int64_t& extent = batch[batch.size() + 2 - static_cast<std::size_t>(back)];
      const std::int64_t own = (*shape)[-back];
      if (own == 1 || own == extent) continue;
      if (extent != 1) {
        fail("matmul", "a " + a.to_string() + " and b " + b.to_string() + " do not match in front of their matrices");
      }
      extent = own;
    }
  }
  return batch;
}

// The steps from one matrix of `shape` to the next along each axis of the batch.
std::vector<std::int64_t> steps_of(const Shape& shape, const std::vector<std::int64_t>& batch) {
  std::vector<std::int64_t> steps(batch.size(), 0);
  std::int64_t matrices = 1;
  for (int back = 3; back <= shape.rank(); ++back) {
    const std::int64_t own = shape[-back];
    if (own != 1) steps[batch.size() + 2 - static_cast<std::size_t>(back)] = matrices;
    matrices *= own;
  }
  return steps;
}

std::vector<ValueType> infer_matmul(const OpInstance& op) {
  expect_one_floating_dtype("matmul", op.inputs);
  expect_matrices("a", op.inputs[0]);
  expect_matrices("b", op.inputs[1]);
  const Shape &a = op.inputs[0].shape, &b = op.inputs[1].shape;
  const bool turn_a = op.attributes.boolean("transpose_a"), turn_b = op.attributes.boolean("transpose_b");
  const std::int64_t columns_of_a = a[turn_a ? -2 : -1], rows_of_b = b[turn_b ? -1 : -2];
  if (columns_of_a != rows_of_b) {
    fail("matmul", "a " + a.to_string() + turned(turn_a) + " has " + std::to_string(columns_of_a) + " columns, b " +
                       b.to_string() + turned(turn_b) + " has " + std::to_string(rows_of_b) + " rows");
  }
  std::vector<std::int64_t> dims = batch_of(a, b);
  dims.push_back(a[turn_a ? -1 : -2]);
  dims.push_back(b[turn_b ? -2 : -1]);
  return {{result_dtype("matmul", op.attributes, op.inputs[0].dtype), Shape(std::move(dims))}};
}

void reference_matmul(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const MatmulForm form = matmul_form(op.inputs[0].shape, op.inputs[1].shape, op.attributes);
  const std::vector<double> a = widen(inputs[0]), b = widen(inputs[1]);
  const auto rows = static_cast<std::size_t>(form.rows), columns = static_cast<std::size_t>(form.columns),
             depth = static_cast<std::size_t>(form.depth);
  const std::size_t a_row = form.transpose_a ? 1 : depth, a_step = form.transpose_a ? rows : 1;
  const std::size_t b_step = form.transpose_b ? 1 : columns, b_column = form.transpose_b ? depth : 1;
  std::vector<double> y(static_cast<std::size_t>(outputs[0].elements()), 0.0);
  for (std::int64_t m = 0; m < form.matrices(); ++m) {
    const double* of_a = a.data() + static_cast<std::size_t>(form.a_matrix(m)) * rows * depth;
    const double* of_b = b.data() + static_cast<std::size_t>(form.b_matrix(m)) * depth * columns;
    double* of_y = y.data() + static_cast<std::size_t>(m) * rows * columns;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < depth; ++k) sum += of_a[i * a_row + k * a_step] * of_b[k * b_step + j * b_column];
        of_y[i * columns + j] = sum;
      }
    }
  }
  store(y, outputs[0]);
}

}  // namespace

std::int64_t MatmulForm::matrices() const {
  std::int64_t all = 1;
  for (const std::int64_t extent : batch) all *= extent;
  return all;
}

std::int64_t MatmulForm::matrix(const std::vector<std::int64_t>& steps, std::int64_t index) const {
  std::int64_t at = 0;
  for (std::size_t axis = batch.size(); axis-- > 0; index /= batch[axis]) at += index % batch[axis] * steps[axis];
  return at;
}

MatmulForm MatmulForm::merged() const {
  if (transpose_a || batch.empty()) return *this;
  for (std::size_t axis = 0; axis < batch.size(); ++axis) {
    if (batch[axis] != 1 && (a_steps[axis] == 0 || b_steps[axis] != 0)) return *this;
  }
  MatmulForm one = *this;
  one.rows = rows * matrices();
  one.batch.clear();
  one.a_steps.clear();
  one.b_steps.clear();
  return one;
}

MatmulForm matmul_form(const Shape& a, const Shape& b, const Attributes& attributes) {
  MatmulForm form;
  form.transpose_a = attributes.boolean("transpose_a");
  form.transpose_b = attributes.boolean("transpose_b");
  form.rows = a[form.transpose_a ? -1 : -2];
  form.depth = a[form.transpose_a ? -2 : -1];
  form.columns = b[form.transpose_b ? -2 : -1];
  form.batch = batch_of(a, b);
  form.a_steps = steps_of(a, form.batch);
  form.b_steps = steps_of(b, form.batch);
  return form;
}

OpDef matmul_op() {
  OpDef def;
  def.name = "matmul";
  def.formula =
      "y[...,i,j] = sum over k of a[...,i,k] * b[...,k,j]; transpose_a and transpose_b exchange the last two axes of a "
      "and b. The other axes are broadcast as in NumPy";
  def.operands = {"a", "b"};
  def.min_operands = def.max_operands = 2;
  def.results = {"y"};
  def.attributes = {optional("transpose_a", false, "whether the matrices of a are [k,i]"),
                    optional("transpose_b", false, "whether the matrices of b are [j,k]"), f32_results()};
  def.infer = infer_matmul;
  def.reference = reference_matmul;
  def.cost = [](const OpInstance& op, std::span<const ValueType> results) {
    const std::int64_t depth = op.inputs[0].shape[op.attributes.boolean("transpose_a") ? -2 : -1];
    return Cost{2.0 * static_cast<double>(results[0].shape.elements()) * static_cast<double>(depth),
                bytes_moved(op, results)};
  };
  return def;
}

}  // namespace ridgeline
