// ridgeline/core/tensor.h
//
// A dense, row-major block of host memory with a type and a shape. A Tensor is a handle: copies share the memory,
// clone() does not. Memory is 64-byte aligned. No thread safety beyond that of the bytes themselves.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/core/dtype.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/shape.h"

namespace ridgeline {

class Tensor {
 public:
  Tensor() = default;
  // Uninitialised memory of its own. DType::bytes gives empty strings.
  Tensor(DType dtype, Shape shape);
  static Tensor zeros(DType dtype, Shape shape);
  // Borrows `data`; `owner` (if any) is kept alive as long as the tensor.
  static Tensor view(void* data, DType dtype, Shape shape, std::shared_ptr<void> owner = nullptr);
  // A copy of the values. Sizes must agree.
  template <class T>
  static Tensor of(const std::vector<T>& values, Shape shape);
  template <class T>
  static Tensor scalar(T value) {
    Tensor t(dtype_of<T>, Shape{});
    *t.data<T>() = value;
    return t;
  }
  // A rank-1 column of byte strings.
  static Tensor strings(std::vector<std::string> values);

  bool defined() const { return data_ != nullptr || strings_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return shape_.elements(); }
  std::size_t byte_size() const { return shape_.bytes(size_of(dtype_)); }

  void* raw() { return data_.get(); }
  const void* raw() const { return data_.get(); }
  // The elements; T must be the tensor's type.
  template <class T>
  T* data() {
    RIDGELINE_CHECK(dtype_of<T> == dtype_, "tensor of another type");
    return static_cast<T*>(data_.get());
  }
  template <class T>
  const T* data() const {
    RIDGELINE_CHECK(dtype_of<T> == dtype_, "tensor of another type");
    return static_cast<const T*>(data_.get());
  }
  template <class T>
  std::span<T> span() {
    return {data<T>(), static_cast<std::size_t>(elements())};
  }
  template <class T>
  std::span<const T> span() const {
    return {data<T>(), static_cast<std::size_t>(elements())};
  }
  // The byte strings of a DType::bytes tensor.
  std::vector<std::string>& string_values();
  const std::vector<std::string>& string_values() const;

  Tensor clone() const;
  // The same memory under another shape with the same number of elements.
  Tensor reshaped(Shape shape) const;
  // Element `index` as a double, whatever the type (not for bytes). For tests and reference code.
  double at(std::int64_t index) const;
  // Stores `value`: floating types round to nearest even, integer types cut the fraction, bool is value != 0.
  // The value must be in the type's range.
  void set(std::int64_t index, double value);

 private:
  DType dtype_ = DType::f32;
  Shape shape_;
  std::shared_ptr<void> data_;
  std::shared_ptr<std::vector<std::string>> strings_;
};

template <class T>
Tensor Tensor::of(const std::vector<T>& values, Shape shape) {
  RIDGELINE_CHECK(static_cast<std::int64_t>(values.size()) == shape.elements(), "value count does not match the shape");
  Tensor t(dtype_of<T>, std::move(shape));
  if constexpr (std::is_same_v<T, bool>) {
    for (std::size_t i = 0; i < values.size(); ++i) t.data<bool>()[i] = values[i];
  } else if (!values.empty()) {
    std::memcpy(t.raw(), values.data(), values.size() * sizeof(T));
  }
  return t;
}

}  // namespace ridgeline
