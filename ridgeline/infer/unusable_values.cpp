#include "ridgeline/infer/unusable_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

// How many tensors an Error names.
constexpr std::size_t kNamed = 4;

struct Unusable {
  std::int64_t count = 0, first = 0;
};

template <class F>
Unusable count_where(std::int64_t elements, const F& is_bad) {
  Unusable found;
  for (std::int64_t i = 0; i < elements; ++i) {
    if (is_bad(i) && found.count++ == 0) found.first = i;
  }
  return found;
}

// As f32, which is what training and evaluation compute in: an f64 beyond it becomes an infinity.
bool is_finite(double value) { return std::isfinite(static_cast<float>(value)); }

Unusable not_finite(const Tensor& tensor) {
  if (tensor.dtype() != DType::f32)
    return count_where(tensor.elements(), [&](std::int64_t i) { return !is_finite(tensor.at(i)); });
  const auto values = tensor.span<float>();
  return count_where(tensor.elements(),
                     [&](std::int64_t i) { return !std::isfinite(values[static_cast<std::size_t>(i)]); });
}

std::string position(std::int64_t at, const Shape& shape) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<std::size_t>(axis)] = at % shape[axis];
    at /= shape[axis];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::string sentence(std::string_view name, const Tensor& tensor, const Unusable& found, std::string_view what) {
  return fmt::format("{}: {} of {} values {} {}, the first is {} at {}", name, found.count, tensor.elements(),
                     found.count == 1 ? "is" : "are", what, tensor.at(found.first),
                     position(found.first, tensor.shape()));
}

}  // namespace

std::string unusable_values(std::string_view name, const Tensor& stored, bool variance) {
  if (!is_floating(stored.dtype())) return "";
  if (const Unusable found = not_finite(stored); found.count > 0) return sentence(name, stored, found, "not finite");
  if (!variance) return "";
  const Unusable found = count_where(stored.elements(), [&](std::int64_t i) { return stored.at(i) < 0; });
  return found.count == 0 ? "" : sentence(name, stored, found, "below 0");
}

void expect_usable(const std::string& where, const std::vector<std::string>& unusable) {
  if (unusable.empty()) return;
  const std::span<const std::string> named(unusable.data(), std::min(kNamed, unusable.size()));
  std::string text = fmt::format("{}: {}", where, fmt::join(named, "; "));
  if (unusable.size() > kNamed) text += fmt::format("; and {} tensors more", unusable.size() - kNamed);
  throw Error(text);
}

}  // namespace ridgeline
