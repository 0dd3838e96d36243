#include "ridgeline/graph/op/concat.h"

#include <algorithm>
#include <cstring>

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

void expect_numbers(std::string_view op, const ValueType& x) {
  if (x.dtype == DType::bytes) fail(op, "x holds byte strings; numbers are meant");
}

std::int64_t product(const Shape& shape, int from, int to) {
  std::int64_t all = 1;
  for (int axis = from; axis < to; ++axis) all *= shape[axis];
  return all;
}

// Operands side by side along an axis, as bytes: whole(index, part, bytes) for each contiguous run of an operand in the
// result.
template <class F>
void for_each_run(const Shape& whole, int axis, std::span<const std::int64_t> extents, std::size_t element, F&& run) {
  const auto outer = static_cast<std::size_t>(product(whole, 0, axis));
  const auto inner = static_cast<std::size_t>(product(whole, axis + 1, whole.rank())) * element;
  std::size_t at = 0;
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t part = 0; part < extents.size(); ++part) {
      const std::size_t bytes = static_cast<std::size_t>(extents[part]) * inner;
      if (bytes > 0) run(part, at, o * bytes, bytes);
      at += bytes;
    }
  }
}

// ---- concat

std::vector<ValueType> infer_concat(const OpInstance& op) {
  const ValueType& first = op.inputs[0];
  expect_numbers("concat", first);
  const int axis = axis_of("concat", op.attributes.integer("axis"), first.shape.rank());
  Shape y = first.shape;
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    const ValueType& x = op.inputs[i];
    bool fits = x.dtype == first.dtype && x.shape.rank() == y.rank();
    for (int a = 0; fits && a < y.rank(); ++a) fits = a == axis || x.shape[a] == y[a];
    if (!fits) {
      fail("concat", "operand " + std::to_string(i) + " is " + x.to_string() + " beside " + first.to_string() +
                         ": the same type and extents are meant but along axis " + std::to_string(axis));
    }
    if (__builtin_add_overflow(y[axis], x.shape[axis], &y[axis])) fail("concat", "the operands are too long");
  }
  return {{first.dtype, y}};
}

void reference_concat(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& y = outputs[0].shape();
  const int axis = axis_of("concat", op.attributes.integer("axis"), y.rank());
  Integers extents;
  for (const ValueType& x : op.inputs) extents.push_back(x.shape[axis]);
  auto* to = static_cast<char*>(outputs[0].raw());
  for_each_run(y, axis, extents, size_of(outputs[0].dtype()),
               [&](std::size_t part, std::size_t in_y, std::size_t in_x, std::size_t bytes) {
                 std::memcpy(to + in_y, static_cast<const char*>(inputs[part].raw()) + in_x, bytes);
               });
}

// ---- split

std::vector<ValueType> infer_split(const OpInstance& op) {
  const ValueType& x = op.inputs[0];
  expect_numbers("split", x);
  const int axis = axis_of("split", op.attributes.integer("axis"), x.shape.rank());
  const Integers& sizes = op.attributes.integers("sizes");
  std::int64_t all = 0;
  std::vector<ValueType> results;
  for (const std::int64_t size : sizes) {
    if (size < 1) fail("split", "sizes " + Shape(sizes).to_string() + " have one below 1");
    if (__builtin_add_overflow(all, size, &all)) fail("split", "sizes " + Shape(sizes).to_string() + " are too large");
    Shape part = x.shape;
    part[axis] = size;
    results.push_back({x.dtype, part});
  }
  if (results.empty()) fail("split", "there are no sizes; one for each part is meant");
  if (all != x.shape[axis]) {
    fail("split", "sizes " + Shape(sizes).to_string() + " add up to " + std::to_string(all) + ", x " +
                      x.shape.to_string() + " has " + std::to_string(x.shape[axis]) + " along axis " +
                      std::to_string(axis));
  }
  return results;
}

void reference_split(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& x = op.inputs[0].shape;
  const int axis = axis_of("split", op.attributes.integer("axis"), x.rank());
  const auto* from = static_cast<const char*>(inputs[0].raw());
  for_each_run(x, axis, op.attributes.integers("sizes"), size_of(inputs[0].dtype()),
               [&](std::size_t part, std::size_t in_x, std::size_t in_y, std::size_t bytes) {
                 std::memcpy(static_cast<char*>(outputs[part].raw()) + in_y, from + in_x, bytes);
               });
}

}  // namespace

std::vector<OpDef> concat_ops() {
  OpDef concat;
  concat.name = "concat";
  concat.formula = "y = x1, x2, ... concatenated along the axis";
  concat.operands = {"x"};
  concat.min_operands = 1;
  concat.max_operands = -1;
  concat.results = {"y"};
  concat.attributes = {required("axis", std::int64_t{3}, kAxisMeaning)};
  concat.infer = infer_concat;
  concat.reference = reference_concat;

  OpDef split;
  split.name = "split";
  split.formula = "y1, y2, ... = x divided along the axis into parts of the given sizes";
  split.operands = {"x"};
  split.min_operands = split.max_operands = 1;
  split.results = {"y"};
  split.attributes = {required("axis", std::int64_t{2}, kAxisMeaning),
                      required("sizes", Integers{64, 64, 64}, "extents of the parts; their sum is the extent of x")};
  split.infer = infer_split;
  split.reference = reference_split;
  return {concat, split};
}

}  // namespace ridgeline
