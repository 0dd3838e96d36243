#include "tests/device/cuda/op_support.h"

#include <cmath>
#include <limits>

namespace ridgeline::cuda::testing {

Tensor Values::uniform(DType type, Shape shape, double low, double high) {
  Tensor t(type, std::move(shape));
  for (std::int64_t i = 0; i < t.elements(); ++i)
    t.set(i, low + (high - low) * static_cast<double>(random_()) * 0x1p-32);
  return t;
}

Tensor Values::special(DType type, Shape shape) {
  Tensor t = uniform(type, std::move(shape), -4, 4);
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    const unsigned pick = random_() % 32;
    if (pick == 0) t.set(i, std::numeric_limits<double>::quiet_NaN());
    if (pick == 1) t.set(i, std::numeric_limits<double>::infinity());
    if (pick == 2) t.set(i, -std::numeric_limits<double>::infinity());
    if (pick == 3) t.set(i, 0.0);
    if (pick == 4) t.set(i, -0.0);
    if (pick > 20) t.set(i, std::floor(t.at(i)));
  }
  return t;
}

Tensor Values::integers(DType type, Shape shape, int below) {
  Tensor t(type, std::move(shape));
  for (std::int64_t i = 0; i < t.elements(); ++i)
    t.set(i, static_cast<double>(random_() % static_cast<unsigned>(below)));
  return t;
}

Tensor noise(DType type, Shape shape) {
  Tensor t(type, std::move(shape));
  std::memset(t.raw(), 0xcd, t.byte_size());
  return t;
}

std::vector<std::uint8_t> scratch(std::size_t bytes) { return std::vector<std::uint8_t>(bytes + 64, 0xcd); }

std::vector<Tensor> reference_of(const std::string& op, const std::vector<Tensor>& inputs,
                                 const Attributes& attributes) {
  const OpDef& def = op_def(op);
  return run_reference(def, inputs, complete_attributes(def, attributes), op);
}

std::string outside_band(const Tensor& got, const Tensor& expected, double band, double size) {
  if (got.shape() != expected.shape()) return "shapes differ";
  const double unit = got.dtype() == DType::f32 ? 0x1p-23 : got.dtype() == DType::bf16 ? 0x1p-8 : 0x1p-11;
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const double a = got.at(i), b = expected.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (std::abs(a - b) <= band * unit * std::max(std::abs(b), size)) continue;
    return "element " + std::to_string(i) + ": " + std::to_string(a) + " instead of " + std::to_string(b);
  }
  return "";
}

std::string unequal_bits(const Tensor& got, const Tensor& expected) {
  if (got.dtype() != expected.dtype() || got.shape() != expected.shape()) return "types differ";
  const std::size_t size = size_of(got.dtype());
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const auto at = static_cast<std::size_t>(i) * size;
    const auto* const a = static_cast<const char*>(got.raw()) + at;
    const auto* const b = static_cast<const char*>(expected.raw()) + at;
    if (std::memcmp(a, b, size) == 0 || (std::isnan(got.at(i)) && std::isnan(expected.at(i)))) continue;
    return "element " + std::to_string(i) + ": " + std::to_string(got.at(i)) + " instead of " +
           std::to_string(expected.at(i));
  }
  return "";
}

}  // namespace ridgeline::cuda::testing
