// Gradients of products, and of rows taken from a table.
#include "ridgeline/graph/op/matmul.h"
#include "ridgeline/graph/grad/builders.h"

namespace ridgeline {
namespace {

using Ids = std::vector<ValueId>;

ValueId product(GradientScope& s, ValueId a, bool transpose_a, ValueId b, bool transpose_b) {
  return s.apply("matmul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

// All matrices as one of many rows.
ValueId as_rows(GradientScope& s, ValueId id) {
  const Shape shape = s.shape(id);
  if (shape.rank() == 2) return id;
  const std::int64_t columns = shape[-1], rows = columns == 0 ? 0 : shape.elements() / columns;
  return s.apply("reshape", {id}, {{"shape", std::vector<std::int64_t>{rows, columns}}});
}

// y = a b: da = dy b^T, db = a^T dy, each transposed where the operand was. A b shared by all matrices of a gets one
// product over all of their rows instead of a sum of products.
Ids matmul(GradientScope& s, const ForwardOp& op) {
  const ValueId a = op.x(0), b = op.x(1);
  ValueId dy = op.dy();
  if (s.type(dy).dtype != s.type(a).dtype) dy = s.apply("cast", {dy}, {{"to", s.type(a).dtype}});
  const MatmulForm form = matmul_form(s.shape(a), s.shape(b), op.node.attributes);
  Ids results(2, kNoValue);
  if (op.wanted[0]) {
    const ValueId da =
        form.transpose_a ? product(s, b, form.transpose_b, dy, true) : product(s, dy, false, b, !form.transpose_b);
    results[0] = s.unbroadcast(da, s.shape(a));
  }
  if (op.wanted[1]) {
    const bool shared = s.shape(b).rank() == 2 && form.merged().batch.empty() && s.shape(dy).elements() > 0;
    const ValueId left = shared ? as_rows(s, a) : a, right = shared ? as_rows(s, dy) : dy;
    const ValueId db = form.transpose_b ? product(s, right, true, left, form.transpose_a)
                                        : product(s, left, !form.transpose_a, right, false);
    results[1] = s.unbroadcast(db, s.shape(b));
  }
  return results;
}

Ids gather(GradientScope& s, const ForwardOp& op) {
  Attributes attributes = op.node.attributes;
  attributes.set("input", s.shape(op.x(0)).dims());
  return {s.apply("gather_bwd", {op.dy(), op.x(1)}, attributes), kNoValue};
}

// The same rows of a gradient of the table.
Ids gather_bwd(GradientScope& s, const ForwardOp& op) {
  return {s.apply("gather", {op.dy(), op.x(1)}, {{"axis", op.node.attributes.integer("axis")}}), kNoValue};
}

}  // namespace

std::vector<GradientRule> product_gradients() {
  return {{"matmul", matmul}, {"gather", gather, {true, false}}, {"gather_bwd", gather_bwd, {true, false}}};
}

}  // namespace ridgeline
