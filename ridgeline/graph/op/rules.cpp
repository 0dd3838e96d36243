#include "ridgeline/graph/op/rules.h"

#include <algorithm>

#include "ridgeline/core/error.h"

namespace ridgeline::rules {

void fail(std::string_view op, const std::string& message) { throw Error("[" + std::string(op) + "] " + message); }

void expect_floating(std::string_view op, std::string_view what, const ValueType& type) {
  if (!is_floating(type.dtype)) fail(op, std::string(what) + " must be floating, not " + type.to_string());
}

void expect_dtype(std::string_view op, std::string_view what, const ValueType& type, DType dtype) {
  if (type.dtype != dtype) {
    fail(op, std::string(what) + " must be " + std::string(name_of(dtype)) + ", not " + type.to_string());
  }
}

void expect_rank(std::string_view op, std::string_view what, const ValueType& type, int rank) {
  if (type.shape.rank() != rank) {
    fail(op, std::string(what) + " must have rank " + std::to_string(rank) + ", not " + type.to_string());
  }
}

void expect_shape(std::string_view op, std::string_view what, const ValueType& type, const Shape& shape) {
  if (type.shape != shape) {
    fail(op, std::string(what) + " is " + type.to_string() + " where shape " + shape.to_string() + " is meant");
  }
}

Shape shape_attribute(std::string_view op, std::string_view what, const Integers& dims) {
  for (std::int64_t d : dims) {
    if (d < 1)
      fail(op, "attribute '" + std::string(what) + "' = " + Shape(dims).to_string() + " has an extent below 1");
  }
  Shape shape(dims);
  shape.elements();  // an Error where they are too many
  return shape;
}

void expect_one_floating_dtype(std::string_view op, std::span<const ValueType> inputs) {
  expect_floating(op, "operand 0", inputs[0]);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (is_floating(inputs[i].dtype) && inputs[i].dtype != inputs[0].dtype) {
      fail(op, "operands " + inputs[0].to_string() + " and " + inputs[i].to_string() + " have different types");
    }
  }
}

void expect_parameter_dtype(std::string_view op, std::string_view what, const ValueType& parameter, DType data) {
  const bool wider = parameter.dtype == DType::f32 && (data == DType::bf16 || data == DType::f16);
  if (parameter.dtype == data || wider) return;
  fail(op, std::string(what) + " is " + parameter.to_string() + " beside " + std::string(name_of(data)) +
               " data; the same type is meant" + (data == DType::f64 || data == DType::f32 ? "" : ", or f32"));
}

DType result_dtype(std::string_view op, const Attributes& attributes, DType data) {
  if (!attributes.boolean("f32_results")) return data;
  if (data == DType::f64) fail(op, "f32_results=true would narrow the results of f64 operands");
  return DType::f32;
}

void expect_axes(std::string_view op, const Integers& axes, int rank) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= rank) {
      fail(op, "axis " + std::to_string(axes[i]) + " is outside rank " + std::to_string(rank) + " (axes count from 0)");
    }
    if (std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), axes[i]) !=
        axes.begin() + static_cast<std::ptrdiff_t>(i)) {
      fail(op, "axis " + std::to_string(axes[i]) + " is named twice");
    }
  }
}

int axis_of(std::string_view op, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    fail(op, "axis " + std::to_string(axis) + " is outside rank " + std::to_string(rank) +
                 " (axes count from 0, or from -1 at the last one)");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

double epsilon_of(std::string_view op, const Attributes& attributes) {
  const double epsilon = attributes.real("epsilon");
  if (!(epsilon > 0)) fail(op, "epsilon=" + to_string(Attribute(epsilon)) + " must be positive");
  return epsilon;
}

std::vector<double> widen(const Tensor& tensor) {
  const auto count = static_cast<std::size_t>(tensor.elements());
  std::vector<double> values(count);
  if (tensor.dtype() == DType::f32) {
    const float* data = tensor.data<float>();
    std::copy(data, data + count, values.begin());
  } else {
    for (std::size_t i = 0; i < count; ++i) values[i] = tensor.at(static_cast<std::int64_t>(i));
  }
  return values;
}

void store(std::span<const double> values, Tensor& tensor) {
  RIDGELINE_CHECK(static_cast<std::int64_t>(values.size()) == tensor.elements(), "result of another size");
  for (std::size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<std::int64_t>(i), values[i]);
}

std::int64_t label_at(std::string_view op, const Tensor& labels, std::int64_t row, std::int64_t classes) {
  const std::int64_t label = labels.data<std::int32_t>()[row];
  if (label < 0 || label >= classes) {
    fail(op, "label " + std::to_string(label) + " of row " + std::to_string(row) + " is outside the " +
                 std::to_string(classes) + " classes");
  }
  return label;
}

Integers strides_of(const Shape& shape) {
  Integers strides(static_cast<std::size_t>(shape.rank()), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = strides[static_cast<std::size_t>(axis) + 1] * shape[axis + 1];
  }
  return strides;
}

double bytes_moved(const OpInstance& op, std::span<const ValueType> results) {
  double bytes = 0;
  for (const ValueType& type : op.inputs) bytes += static_cast<double>(type.bytes());
  for (const ValueType& type : results) bytes += static_cast<double>(type.bytes());
  return bytes;
}

std::function<Cost(const OpInstance&, std::span<const ValueType>)> cost_each(double each) {
  return [each](const OpInstance& op, std::span<const ValueType> results) {
    return Cost{each * static_cast<double>(op.inputs[0].shape.elements()), bytes_moved(op, results)};
  };
}

}  // namespace ridgeline::rules
