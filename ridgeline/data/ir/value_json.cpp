#include "ridgeline/data/ir/value_json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace ridgeline::data {
namespace {

using nlohmann::json;

// The library converts without a look at the range.
bool is_integer(const json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() ||
          value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
}

bool is_real(const json& value) { return value.is_number(); }
bool is_text(const json& value) { return value.is_string(); }

bool all(const json& values, bool (*test)(const json&)) {
  return values.is_array() && std::all_of(values.begin(), values.end(), test);
}

template <class T>
std::optional<Value> value_if(bool fits, const json& value) {
  if (!fits) return std::nullopt;
  return Value(value.get<T>());
}

}  // namespace

std::optional<Value> value_from_json(const json& value, ArgType type) {
  switch (type) {
    case ArgType::boolean: return value_if<bool>(value.is_boolean(), value);
    case ArgType::integer: return value_if<std::int64_t>(is_integer(value), value);
    case ArgType::real: return value_if<double>(is_real(value), value);
    case ArgType::text: return value_if<std::string>(is_text(value), value);
    case ArgType::integers: return value_if<Integers>(all(value, is_integer), value);
    case ArgType::reals: return value_if<Reals>(all(value, is_real), value);
    case ArgType::texts: return value_if<Texts>(all(value, is_text), value);
    case ArgType::tensors: break;
  }
  return std::nullopt;
}

}  // namespace ridgeline::data
