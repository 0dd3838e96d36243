#include "tests/device/cuda/kernel_operands.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "ridgeline/core/error.h"
#include "ridgeline/core/tensor.h"

namespace ridgeline::cuda::testing {

void KernelRunner::compile(const std::string& name, const std::string&) {
  throw Error(name + " is a text, which only a card runs");
}

void HostRunner::Freed::operator()(void* p) const { std::free(p); }

void* HostRunner::upload(const void* data, std::size_t bytes) {
  memory_.emplace_back(std::aligned_alloc(64, (bytes + 64) / 64 * 64));
  if (bytes > 0) std::memcpy(memory_.back().get(), data, bytes);  // of nothing `data` may be null
  return memory_.back().get();
}

std::vector<std::byte> HostRunner::download(const void* address, std::size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(address);
  return {from, from + bytes};
}

void* CaseRun::values(DType type, std::int64_t elements, bool special, double scale) {
  Tensor t(type, Shape{elements});
  for (std::int64_t i = 0; i < elements; ++i) {
    double value = (static_cast<double>(random_()) * 0x1p-31 - 1) * scale;
    if (special) {
      const unsigned pick = random_() % 64;
      if (pick == 0) value = std::numeric_limits<double>::quiet_NaN();
      if (pick == 1) value = std::numeric_limits<double>::infinity();
      if (pick == 2) value = -std::numeric_limits<double>::infinity();
      if (pick == 3) value = 0.0;
      if (pick == 4) value = -0.0;
      if (pick > 40) value = static_cast<int>(value * 2);  // so that equal ones meet
    }
    t.set(i, value);
  }
  return runner_.upload(t.raw(), t.byte_size());
}

void* CaseRun::many(DType type, std::int64_t elements) {
  constexpr std::int64_t kSome = 1 << 16;
  Tensor some(type, Shape{kSome}), all(type, Shape{elements});
  for (std::int64_t i = 0; i < kSome; ++i) some.set(i, static_cast<double>(random_()) * 0x1p-31 - 1);
  auto* to = static_cast<std::byte*>(all.raw());
  for (std::size_t at = 0; at < all.byte_size(); at += some.byte_size())
    std::memcpy(to + at, some.raw(), std::min(some.byte_size(), all.byte_size() - at));
  return runner_.upload(all.raw(), all.byte_size());
}

void* CaseRun::positive(DType type, std::int64_t elements) {
  Tensor t(type, Shape{elements});
  for (std::int64_t i = 0; i < elements; ++i) t.set(i, static_cast<double>(random_()) * 0x1p-32 + 0.5);
  return runner_.upload(t.raw(), t.byte_size());
}

void* CaseRun::bytes(std::int64_t count, unsigned below) {
  std::vector<std::uint8_t> some(static_cast<std::size_t>(count));
  for (auto& b : some) b = static_cast<std::uint8_t>(random_() % below);
  return of(some);
}

void* CaseRun::labels(std::int64_t count, std::int64_t classes) {
  std::vector<std::int32_t> some(static_cast<std::size_t>(count));
  for (auto& label : some) label = static_cast<std::int32_t>(random_() % static_cast<unsigned>(classes));
  return of(some);
}

void* CaseRun::noise(std::size_t bytes) {
  const std::vector<std::uint8_t> some(bytes + 16, 0xcd);
  return runner_.upload(some.data(), some.size());
}

void CaseRun::result(const void* address, DType type, std::int64_t elements) {
  results_.push_back({type, runner_.download(address, static_cast<std::size_t>(elements) * size_of(type))});
}

namespace {

// The bits of element i, with one NaN.
std::uint64_t plain_bits(const KernelOutput& output, std::size_t i) {
  const std::size_t size = size_of(output.type);
  std::uint64_t bits = 0;
  std::memcpy(&bits, output.bytes.data() + i * size, size);
  const auto is_nan = [&](std::uint64_t infinity, std::uint64_t all) { return (bits & all) > infinity; };
  switch (output.type) {
    case DType::f32: return is_nan(0x7f800000u, 0x7fffffffu) ? 0x7fc00000u : bits;
    case DType::bf16: return is_nan(0x7f80u, 0x7fffu) ? 0x7fc0u : bits;
    case DType::f16: return is_nan(0x7c00u, 0x7fffu) ? 0x7e00u : bits;
    default: return bits;
  }
}

// Whether element i is in the band of tensor cores; `unit`: 2^-14 of the largest.
bool in_band(const Tensor& got, const Tensor& expected, std::int64_t i, double unit) {
  const double a = got.at(i), b = expected.at(i);
  const double spacing = got.dtype() == DType::f32 ? 0x1p-23 : got.dtype() == DType::bf16 ? 0x1p-7 : 0x1p-10;
  return std::abs(a - b) <= spacing * std::abs(b) + unit;
}

Tensor tensor_of(const KernelOutput& output) {
  Tensor t(output.type, Shape{static_cast<std::int64_t>(output.bytes.size() / size_of(output.type))});
  std::copy(output.bytes.begin(), output.bytes.end(), static_cast<std::byte*>(t.raw()));
  return t;
}

}  // namespace

std::string difference(const std::vector<KernelOutput>& got, const std::vector<KernelOutput>& expected,
                       bool tensor_cores) {
  if (got.size() != expected.size()) return "numbers of results differ";
  for (std::size_t r = 0; r < got.size(); ++r) {
    if (got[r].bytes.size() != expected[r].bytes.size()) return "sizes differ";
    const std::size_t elements = got[r].bytes.size() / size_of(got[r].type);
    std::size_t differ = 0, first = 0;
    const Tensor a = tensor_of(got[r]), b = tensor_of(expected[r]);
    double unit = 0;
    for (std::int64_t i = 0; tensor_cores && i < b.elements(); ++i) unit = std::max(unit, 0x1p-14 * std::abs(b.at(i)));
    for (std::size_t i = elements; i-- > 0;) {
      if (plain_bits(got[r], i) == plain_bits(expected[r], i)) continue;
      if (tensor_cores && in_band(a, b, static_cast<std::int64_t>(i), unit)) continue;
      ++differ;
      first = i;
    }
    if (differ == 0) continue;
    char text[200];
    std::snprintf(text, sizeof text, "result %zu: %zu of %zu elements differ, the first is %zu: bits %llx for %llx", r,
                  differ, elements, first, static_cast<unsigned long long>(plain_bits(got[r], first)),
                  static_cast<unsigned long long>(plain_bits(expected[r], first)));
    return text;
  }
  return "";
}

std::uint64_t hash_of(const std::vector<KernelOutput>& outputs) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const KernelOutput& output : outputs) {
    const std::size_t elements = output.bytes.size() / size_of(output.type);
    for (std::size_t i = 0; i < elements; ++i) hash = (hash ^ plain_bits(output, i)) * 0x100000001b3ull;
  }
  return hash;
}

}  // namespace ridgeline::cuda::testing
