#include "ridgeline/graph/op/gather.h"

#include <fmt/format.h>

#include <cstring>

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

// The table's shape with that of the indices instead of the axis.
Shape result_shape(std::string_view op, const Shape& table, const Shape& indices, std::int64_t axis) {
  const int at = axis_of(op, axis, table.rank());
  std::vector<std::int64_t> dims(table.begin(), table.begin() + at);
  dims.insert(dims.end(), indices.begin(), indices.end());
  dims.insert(dims.end(), table.begin() + at + 1, table.end());
  return Shape(std::move(dims));
}

std::vector<ValueType> infer_gather(const OpInstance& op) {
  if (op.inputs[0].dtype == DType::bytes) fail("gather", "the table holds byte strings; numbers are meant");
  expect_dtype("gather", "indices", op.inputs[1], DType::i32);
  return {{op.inputs[0].dtype,
           result_shape("gather", op.inputs[0].shape, op.inputs[1].shape, op.attributes.integer("axis"))}};
}

void reference_gather(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const GatherForm form = gather_form(op.inputs[0].shape, op.inputs[1].shape, op.attributes.integer("axis"));
  const auto* indices = inputs[1].data<std::int32_t>();
  check_indices("gather", indices, form);
  const std::size_t bytes = static_cast<std::size_t>(form.inner) * size_of(inputs[0].dtype());
  if (bytes == 0) return;
  const auto* table = static_cast<const char*>(inputs[0].raw());
  auto* y = static_cast<char*>(outputs[0].raw());
  for (std::int64_t o = 0; o < form.outer; ++o) {
    for (std::int64_t i = 0; i < form.count; ++i) {
      std::memcpy(y + static_cast<std::size_t>(o * form.count + i) * bytes,
                  table + static_cast<std::size_t>(o * form.rows + indices[i]) * bytes, bytes);
    }
  }
}

std::vector<ValueType> infer_gather_bwd(const OpInstance& op) {
  constexpr std::string_view name = "gather_bwd";
  expect_floating(name, "dy", op.inputs[0]);
  expect_dtype(name, "indices", op.inputs[1], DType::i32);
  const Shape table = shape_attribute(name, "input", op.attributes.integers("input"));
  expect_shape(name, "dy", op.inputs[0], result_shape(name, table, op.inputs[1].shape, op.attributes.integer("axis")));
  return {{op.inputs[0].dtype, table}};
}

void reference_gather_bwd(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const GatherForm form = gather_form(outputs[0].shape(), op.inputs[1].shape, op.attributes.integer("axis"));
  const auto* indices = inputs[1].data<std::int32_t>();
  check_indices("gather_bwd", indices, form);
  const std::vector<double> dy = widen(inputs[0]);
  std::vector<double> dtable(static_cast<std::size_t>(outputs[0].elements()), 0.0);
  std::size_t at = 0;
  for (std::int64_t o = 0; o < form.outer; ++o) {
    for (std::int64_t i = 0; i < form.count; ++i) {
      double* row = dtable.data() + static_cast<std::size_t>((o * form.rows + indices[i]) * form.inner);
      for (std::int64_t j = 0; j < form.inner; ++j, ++at) row[j] += dy[at];
    }
  }
  store(dtable, outputs[0]);
}

}  // namespace

GatherForm gather_form(const Shape& table, const Shape& indices, std::int64_t axis) {
  const int at = axis_of("gather", axis, table.rank());
  GatherForm form{.rows = table[at], .count = indices.elements()};
  for (int a = 0; a < at; ++a) form.outer *= table[a];
  for (int a = at + 1; a < table.rank(); ++a) form.inner *= table[a];
  return form;
}

void check_indices(std::string_view op, const std::int32_t* indices, const GatherForm& form) {
  for (std::int64_t i = 0; i < form.count; ++i) {
    if (indices[i] >= 0 && indices[i] < form.rows) continue;
    fail(op, "index " + std::to_string(indices[i]) + " at position " + std::to_string(i) + " is outside the " +
                 std::to_string(form.rows) + " rows");
  }
}

std::vector<OpDef> gather_ops() {
  const AttributeSpec axis = optional("axis", std::int64_t{0}, fmt::format("axis of the rows; {}", kAxisMeaning));

  OpDef forward;
  forward.name = "gather";
  forward.formula = "y[i...,j] = table[indices[i...],j]: rows of the table, by index; indices are i32";
  forward.operands = {"table", "indices"};
  forward.min_operands = forward.max_operands = 2;
  forward.results = {"y"};
  forward.attributes = {axis};
  forward.infer = infer_gather;
  forward.reference = reference_gather;

  OpDef backward;
  backward.name = "gather_bwd";
  backward.formula = "dtable[r,j] = sum of dy[i...,j] over all i... whose index is r, in their order";
  backward.operands = {"dy", "indices"};
  backward.min_operands = backward.max_operands = 2;
  backward.results = {"dtable"};
  backward.attributes = {axis, required("input", Integers{1000, 192}, "shape of the table")};
  backward.infer = infer_gather_bwd;
  backward.reference = reference_gather_bwd;
  return {forward, backward};
}

}  // namespace ridgeline
