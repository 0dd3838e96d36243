#include "ridgeline/core/tensor.h"

#include <cmath>
#include <new>

namespace ridgeline {
namespace {

constexpr std::size_t kAlignment = 64;

std::shared_ptr<void> allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* p = ::operator new(rounded == 0 ? kAlignment : rounded, std::align_val_t{kAlignment});
  return {p, [](void* q) { ::operator delete(q, std::align_val_t{kAlignment}); }};
}

}  // namespace

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
  for (std::int64_t extent : shape_) RIDGELINE_CHECK(extent >= 0, "a tensor has no negative extent");
  if (dtype == DType::bytes) {
    strings_ = std::make_shared<std::vector<std::string>>(static_cast<std::size_t>(shape_.elements()));
  } else {
    data_ = allocate(byte_size());
  }
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor t(dtype, std::move(shape));
  if (t.data_) std::memset(t.raw(), 0, t.byte_size());
  return t;
}

Tensor Tensor::view(void* data, DType dtype, Shape shape, std::shared_ptr<void> owner) {
  RIDGELINE_CHECK(dtype != DType::bytes, "a view of byte strings has no memory layout");
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = std::move(shape);
  t.data_ = std::shared_ptr<void>(std::move(owner), data);
  return t;
}

Tensor Tensor::strings(std::vector<std::string> values) {
  Tensor t;
  t.dtype_ = DType::bytes;
  t.shape_ = Shape{static_cast<std::int64_t>(values.size())};
  t.strings_ = std::make_shared<std::vector<std::string>>(std::move(values));
  return t;
}

std::vector<std::string>& Tensor::string_values() {
  RIDGELINE_CHECK(strings_ != nullptr, "not a tensor of byte strings");
  return *strings_;
}

const std::vector<std::string>& Tensor::string_values() const {
  RIDGELINE_CHECK(strings_ != nullptr, "not a tensor of byte strings");
  return *strings_;
}

Tensor Tensor::clone() const {
  if (!defined()) return {};
  Tensor t(dtype_, shape_);
  if (strings_) {
    *t.strings_ = *strings_;
  } else if (byte_size() > 0) {
    std::memcpy(t.raw(), raw(), byte_size());
  }
  return t;
}

Tensor Tensor::reshaped(Shape shape) const {
  RIDGELINE_CHECK(shape.elements() == elements(), "reshape changes the number of elements");
  Tensor t = *this;
  t.shape_ = std::move(shape);
  return t;
}

double Tensor::at(std::int64_t i) const {
  switch (dtype_) {
    case DType::f64: return data<double>()[i];
    case DType::f32: return data<float>()[i];
    case DType::bf16: return to_float(data<bfloat16>()[i]);
    case DType::f16: return to_float(data<float16>()[i]);
    case DType::u8: return data<std::uint8_t>()[i];
    case DType::i32: return data<std::int32_t>()[i];
    case DType::i64: return static_cast<double>(data<std::int64_t>()[i]);
    case DType::boolean: return data<bool>()[i] ? 1.0 : 0.0;
    case DType::bytes: break;
  }
  RIDGELINE_CHECK(false, "byte strings are no numbers");
}

void Tensor::set(std::int64_t i, double value) {
  switch (dtype_) {
    case DType::f64: data<double>()[i] = value; return;
    case DType::f32: data<float>()[i] = static_cast<float>(value); return;
    case DType::bf16: data<bfloat16>()[i] = to_bfloat16(static_cast<float>(value)); return;
    case DType::f16: data<float16>()[i] = to_float16(static_cast<float>(value)); return;
    case DType::u8: data<std::uint8_t>()[i] = static_cast<std::uint8_t>(value); return;
    case DType::i32: data<std::int32_t>()[i] = static_cast<std::int32_t>(value); return;
    case DType::i64: data<std::int64_t>()[i] = static_cast<std::int64_t>(value); return;
    case DType::boolean: data<bool>()[i] = value != 0.0; return;
    case DType::bytes: break;
  }
  RIDGELINE_CHECK(false, "byte strings are no numbers");
}

}  // namespace ridgeline
