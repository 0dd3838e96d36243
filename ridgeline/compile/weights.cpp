#include "ridgeline/compile/weights.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

bool is_kernel(const ParameterSpec& spec) { return spec.shape.rank() == 4; }

// Swaps the middle of [outer, a, b] so that it becomes [outer, b, a]: KRSC and OIHW differ by just that.
Tensor swap_inner(const Tensor& from, std::int64_t outer, std::int64_t a, std::int64_t b, Shape shape) {
  Tensor to(from.dtype(), std::move(shape));
  const std::size_t size = size_of(from.dtype());
  const auto* source = static_cast<const char*>(from.raw());
  auto* target = static_cast<char*>(to.raw());
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t j = 0; j < b; ++j) {
      for (std::int64_t i = 0; i < a; ++i) {
        std::memcpy(target, source + static_cast<std::size_t>((o * a + i) * b + j) * size, size);
        target += size;
      }
    }
  }
  return to;
}

std::string typed(const Tensor& tensor) { return ValueType{tensor.dtype(), tensor.shape()}.to_string(); }

// The name in the graph for a name in a file, or "" for what no model wants.
std::string graph_name(std::string_view stored) {
  constexpr std::string_view kWrapper = "module.";  // torch.nn.DataParallel
  constexpr std::string_view kCounter = "num_batches_tracked";
  if (stored.starts_with(kWrapper)) stored.remove_prefix(kWrapper.size());
  return stored.ends_with(kCounter) ? std::string() : std::string(stored);
}

bool in_scope(std::string_view name, std::string_view scope) {
  if (!name.starts_with(scope)) return false;
  return name.size() == scope.size() || name[scope.size()] == '/' || name[scope.size()] == '.' ||
         (!scope.empty() && (scope.back() == '/' || scope.back() == '.'));
}

}  // namespace

Shape file_shape(const ParameterSpec& spec) {
  if (!is_kernel(spec)) return spec.shape;
  return {spec.shape[0], spec.shape[3], spec.shape[1], spec.shape[2]};
}

Tensor to_file(const ParameterSpec& spec, const Tensor& logical) {
  RIDGELINE_CHECK(logical.shape() == spec.shape, "a tensor of another parameter than " + spec.name);
  if (!is_kernel(spec)) return logical;
  return swap_inner(logical, spec.shape[0], spec.shape[1] * spec.shape[2], spec.shape[3], file_shape(spec));
}

Tensor from_file(const ParameterSpec& spec, const Tensor& stored) {
  const bool convertible = stored.dtype() == spec.dtype || (is_floating(stored.dtype()) && is_floating(spec.dtype));
  if (stored.shape() != file_shape(spec) || !convertible) {
    throw Error(spec.name + ": the file has " + typed(stored) + ", the model " +
                ValueType{spec.dtype, file_shape(spec)}.to_string());
  }
  Tensor tensor = stored;
  if (stored.dtype() != spec.dtype) {
    tensor = Tensor(spec.dtype, stored.shape());
    for (std::int64_t i = 0; i < stored.elements(); ++i) tensor.set(i, stored.at(i));
  }
  if (is_kernel(spec))
    return swap_inner(tensor, spec.shape[0], spec.shape[3], spec.shape[1] * spec.shape[2], spec.shape);
  return tensor.clone();
}

WeightMatch match_weights(std::span<const ParameterSpec> wanted, std::span<const NamedTensor> stored,
                          std::span<const std::string> exclude) {
  std::map<std::string, const NamedTensor*> available;
  for (const NamedTensor& tensor : stored) {
    const std::string name = graph_name(tensor.name);
    if (!name.empty() && !available.emplace(name, &tensor).second) {
      throw Error("two tensors of the file are called " + name + " (one behind \"module.\")");
    }
  }
  WeightMatch match;
  for (const std::string& scope : exclude) {
    const auto inside = [&](const ParameterSpec& spec) { return in_scope(spec.name, scope); };
    if (std::none_of(wanted.begin(), wanted.end(), inside)) match.idle.push_back(scope);
  }
  for (const ParameterSpec& spec : wanted) {
    const auto found = available.find(spec.name);
    const NamedTensor* tensor = found == available.end() ? nullptr : found->second;
    if (tensor) available.erase(found);
    bool excluded = false;
    for (const std::string& scope : exclude) excluded = excluded || in_scope(spec.name, scope);
    if (excluded) {
      match.excluded.push_back(spec.name);
    } else if (tensor == nullptr) {
      match.missing.push_back(spec.name);
    } else {
      try {
        match.tensors.emplace(spec.name, from_file(spec, tensor->tensor));
        match.loaded.push_back(spec.name);
      } catch (const Error& error) {
        match.mismatched.emplace_back(error.what());
      }
    }
  }
  for (const auto& [name, tensor] : available) match.unexpected.push_back(tensor->name);
  return match;
}

}  // namespace ridgeline
