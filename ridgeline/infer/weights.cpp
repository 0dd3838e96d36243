#include "ridgeline/infer/weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>

#include "ridgeline/core/error.h"
#include "ridgeline/infer/unusable_values.h"

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

// Without the prefixes of PyTorch's wrappers: DataParallel, torch.compile.
std::string_view unwrapped(std::string_view stored) {
  constexpr std::array<std::string_view, 2> kWrappers = {"module.", "_orig_mod."};
  for (bool wrapped = true; wrapped;) {
    wrapped = false;
    for (const std::string_view wrapper : kWrappers) {
      if (!stored.starts_with(wrapper)) continue;
      stored.remove_prefix(wrapper.size());
      wrapped = true;
    }
  }
  return stored;
}

bool in_scope(std::string_view name, std::string_view scope) {
  if (!name.starts_with(scope)) return false;
  return name.size() == scope.size() || name[scope.size()] == '/' || name[scope.size()] == '.' ||
         (!scope.empty() && (scope.back() == '/' || scope.back() == '.'));
}

bool is_excluded(const ParameterSpec& spec, std::span<const std::string> exclude) {
  return std::any_of(exclude.begin(), exclude.end(),
                     [&](const std::string& scope) { return in_scope(spec.name, scope); });
}

// The tensors of a file by their names there, without wrappers and without what no model uses.
using Available = std::map<std::string, const NamedTensor*, std::less<>>;
Available available_of(std::span<const NamedTensor> stored) {
  Available available;
  for (const NamedTensor& tensor : stored) {
    const std::string name(unwrapped(tensor.name));
    if (name.ends_with("num_batches_tracked")) continue;
    if (!available.emplace(name, &tensor).second) {
      throw Error("two tensors of the file are called " + name + " (one behind \"module.\" or \"_orig_mod.\")");
    }
  }
  return available;
}

// Prefixes of the model's names in the file, up to a separator.
std::set<std::string> prefixes_in(const Available& available, std::span<const ParameterSpec> wanted) {
  std::set<std::string> prefixes;
  for (const auto& [name, tensor] : available) {
    for (const ParameterSpec& spec : wanted) {
      if (name.size() <= spec.name.size() || !name.ends_with(spec.name)) continue;
      const std::string prefix = name.substr(0, name.size() - spec.name.size());
      if (prefix.back() == '.' || prefix.back() == '/') prefixes.insert(prefix);
    }
  }
  return prefixes;
}

std::string prefix_of(const Available& available, std::span<const ParameterSpec> wanted,
                      std::span<const std::string> exclude) {
  const auto is_there = [&](const std::string& prefix) {
    return [&, prefix](const ParameterSpec& spec) { return available.contains(prefix + spec.name); };
  };
  if (std::any_of(wanted.begin(), wanted.end(), is_there(""))) return "";
  std::vector<std::string> fitting;
  for (const std::string& prefix : prefixes_in(available, wanted)) {
    const auto there = static_cast<std::size_t>(std::count_if(wanted.begin(), wanted.end(), is_there(prefix)));
    const bool every = std::all_of(wanted.begin(), wanted.end(), [&](const ParameterSpec& spec) {
      return is_excluded(spec, exclude) || is_there(prefix)(spec);
    });
    if (every || there == available.size()) fitting.push_back(prefix);
  }
  if (fitting.size() > 1) {
    throw Error(fmt::format("the file has weights of the model behind '{}' and behind '{}': save one of them alone",
                            fitting[0], fitting[1]));
  }
  return fitting.empty() ? "" : fitting.front();
}

// The first of them.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kListed = 6;
  if (names.size() <= kListed) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kListed, ", "), names.size() - kListed);
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

std::string WeightMatch::note() const { return prefix.empty() ? "" : "names without '" + prefix + "'"; }

WeightMatch match_weights(std::span<const ParameterSpec> wanted, std::span<const NamedTensor> stored,
                          std::span<const std::string> exclude) {
  Available available = available_of(stored);
  WeightMatch match;
  match.prefix = prefix_of(available, wanted, exclude);
  for (const std::string& scope : exclude) {
    const auto inside = [&](const ParameterSpec& spec) { return in_scope(spec.name, scope); };
    if (std::none_of(wanted.begin(), wanted.end(), inside)) match.idle.push_back(scope);
  }
  for (const ParameterSpec& spec : wanted) {
    const auto found = available.find(match.prefix + spec.name);
    const NamedTensor* tensor = found == available.end() ? nullptr : found->second;
    if (tensor) available.erase(found);
    if (is_excluded(spec, exclude)) {
      match.excluded.push_back(spec.name);
    } else if (tensor == nullptr) {
      match.missing.push_back(spec.name);
    } else {
      try {
        match.tensors.emplace(spec.name, from_file(spec, tensor->tensor));
        match.loaded.push_back(spec.name);
      } catch (const Error& error) {
        match.mismatched.emplace_back(error.what());
        continue;
      }
      std::string unusable = unusable_values(tensor->name, tensor->tensor, spec.variance);
      if (!unusable.empty()) match.unusable.push_back(std::move(unusable));
    }
  }
  for (const auto& [name, tensor] : available) match.unexpected.push_back(tensor->name);
  return match;
}

WeightMatch take_weights(std::span<const ParameterSpec> wanted, std::span<const NamedTensor> stored,
                         const WeightRules& rules) {
  const auto match = [&] {
    try {
      return match_weights(wanted, stored, rules.exclude);
    } catch (const Error& error) {
      throw Error(rules.where + ": " + error.what());
    }
  }();
  if (!match.mismatched.empty()) {
    throw Error(fmt::format("{}: shapes differ: {}{}", rules.where, fmt::join(match.mismatched, "; "),
                            rules.advice.empty() ? "" : " (" + rules.advice + ")"));
  }
  if (match.loaded.empty()) {
    throw Error(fmt::format("{}: none of its {} tensors belongs to model {} (the first is {}, wanted is {})",
                            rules.where, stored.size(), rules.model, stored.empty() ? "missing" : stored.front().name,
                            wanted.front().name));
  }
  if (rules.complete && !match.missing.empty())
    throw Error(fmt::format("{}: lacks {} of model {}", rules.where, listed(match.missing), rules.model));
  if (!rules.any_value) expect_usable(rules.where, match.unusable);
  return match;
}

}  // namespace ridgeline
