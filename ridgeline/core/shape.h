// ridgeline/core/shape.h
//
// The extents of a tensor, outermost first. Rank 0 is a scalar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace ridgeline {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  // Negative axes count from the end, as in Python.
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis < 0 ? axis + rank() : axis)]; }
  std::int64_t& operator[](int axis) { return dims_[static_cast<std::size_t>(axis < 0 ? axis + rank() : axis)]; }
  // Product of the extents; 1 for a scalar. Beyond 2^63 - 1 it is an Error, so that no size is ever a wrapped one.
  std::int64_t elements() const {
    std::int64_t n = 1;
    for (std::int64_t d : dims_) {
      if (__builtin_mul_overflow(n, d, &n)) refuse_size();
    }
    return n;
  }
  // Bytes of the elements; the same Error.
  std::size_t bytes(std::size_t element_size) const {
    std::int64_t n = 0;
    if (__builtin_mul_overflow(elements(), element_size, &n)) refuse_size();
    return static_cast<std::size_t>(n);
  }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  // "[128,55,55,64]"; "[]" for a scalar.
  std::string to_string() const {
    std::string text = "[";
    for (std::size_t i = 0; i < dims_.size(); ++i) text += (i ? "," : "") + std::to_string(dims_[i]);
    return text + "]";
  }
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  [[noreturn]] void refuse_size() const;

  std::vector<std::int64_t> dims_;
};

}  // namespace ridgeline
