// ridgeline/graph/op/rules.h
//
// What op definitions share: checks with messages for the user, attribute rows, and elements as doubles for the
// references. Free functions without state.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline::rules {

using Integers = std::vector<std::int64_t>;
using Reals = std::vector<double>;

// Throws Error "[<op>] <message>".
[[noreturn]] void fail(std::string_view op, const std::string& message);

void expect_floating(std::string_view op, std::string_view what, const ValueType& type);
void expect_dtype(std::string_view op, std::string_view what, const ValueType& type, DType dtype);
void expect_rank(std::string_view op, std::string_view what, const ValueType& type, int rank);
void expect_shape(std::string_view op, std::string_view what, const ValueType& type, const Shape& shape);
// `shape` given as an attribute: no extent below 1.
Shape shape_attribute(std::string_view op, std::string_view what, const Integers& dims);
// Every floating operand has the dtype of the first, which must be floating; operands of other kinds are left alone.
void expect_one_floating_dtype(std::string_view op, std::span<const ValueType> inputs);
// A parameter (a bias, a scale) used with data of type `data`: of the same type, or f32 with bf16 and f16 data.
void expect_parameter_dtype(std::string_view op, std::string_view what, const ValueType& parameter, DType data);
// f32 where the attribute "f32_results" is set, else `data`. The attribute widens: with f64 it is an Error.
DType result_dtype(std::string_view op, const Attributes& attributes, DType data);
// `axes` are distinct and in [0, rank).
void expect_axes(std::string_view op, const Integers& axes, int rank);
// The axis of an attribute, counted from 0; -1 is the last one, -2 the one before, ...
int axis_of(std::string_view op, std::int64_t axis, int rank);
inline constexpr const char* kAxisMeaning = "counted from 0; -1 is the last axis, -2 the one before, ...";

// The attribute "epsilon", which must be positive.
double epsilon_of(std::string_view op, const Attributes& attributes);

inline AttributeSpec required(std::string name, Attribute example, std::string meaning) {
  return {std::move(name), std::move(example), std::nullopt, std::move(meaning)};
}
inline AttributeSpec optional(std::string name, Attribute fallback, std::string meaning) {
  return {std::move(name), fallback, fallback, std::move(meaning)};
}

// The row of that attribute: ops whose sums are f32 internally can store them as f32.
inline AttributeSpec f32_results() {
  return optional("f32_results", false, "whether results are f32 instead of rounded to the type of the operands");
}

// The elements as doubles, whatever the type.
std::vector<double> widen(const Tensor& tensor);
// Rounds each value once to the tensor's type.
void store(std::span<const double> values, Tensor& tensor);
// The label of a row; outside [0, classes) it is an Error "[<op>] label 12 of row 3 is outside the 10 classes".
std::int64_t label_at(std::string_view op, const Tensor& labels, std::int64_t row, std::int64_t classes);

// Distance of neighbours along each axis of a row-major tensor, in elements.
Integers strides_of(const Shape& shape);
// Walks all indices of `shape` in row-major order.
template <class F>
void for_each_index(const Shape& shape, F&& body) {
  Integers index(static_cast<std::size_t>(shape.rank()), 0);
  const std::int64_t count = shape.elements();
  for (std::int64_t flat = 0; flat < count; ++flat) {
    body(flat, index);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++index[static_cast<std::size_t>(axis)] < shape[axis]) break;
      index[static_cast<std::size_t>(axis)] = 0;
    }
  }
}

// Each operand and result moved once.
double bytes_moved(const OpInstance& op, std::span<const ValueType> results);
// `each` operations an element of the first operand.
std::function<Cost(const OpInstance&, std::span<const ValueType>)> cost_each(double each);

}  // namespace ridgeline::rules
