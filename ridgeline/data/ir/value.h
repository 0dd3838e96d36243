// ridgeline/data/ir/value.h
//
// Arguments of nodes and transforms: a small closed set of types, so that JSON, equality and hashing need no code per
// node.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ridgeline/core/named_tensor.h"

namespace ridgeline::data {

using Integers = std::vector<std::int64_t>;
using Reals = std::vector<double>;
using Texts = std::vector<std::string>;
using Tensors = std::vector<NamedTensor>;  // first extent of each: the samples
using Value = std::variant<bool, std::int64_t, double, std::string, Integers, Reals, Texts, Tensors>;

// The alternatives of Value, in its order.
enum class ArgType { boolean, integer, real, text, integers, reals, texts, tensors };

using Args = std::map<std::string, Value>;

// The argument of that name and type; it must be there (validation and defaults have run).
template <class T>
const T& arg(const Args& args, std::string_view name) {
  const auto found = args.find(std::string(name));
  RIDGELINE_CHECK(found != args.end(), "argument not set: " + std::string(name));
  const T* value = std::get_if<T>(&found->second);
  RIDGELINE_CHECK(value != nullptr, "argument of another type: " + std::string(name));
  return *value;
}

}  // namespace ridgeline::data
