// ridgeline/graph/ir/attributes.h
//
// The constants of one op: strides, pads, probabilities, names. Ordered by name, so that equal sets print alike.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ridgeline/core/dtype.h"

namespace ridgeline {

// Integers and reals are distinct: the text format writes 1 and 1.0.
using Attribute =
    std::variant<bool, std::int64_t, double, std::string, DType, std::vector<std::int64_t>, std::vector<double>>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> items) : items_(items) {}

  bool has(std::string_view name) const { return items_.contains(name); }
  void set(std::string name, Attribute value) { items_.insert_or_assign(std::move(name), std::move(value)); }
  void erase(const std::string& name) { items_.erase(name); }
  const Attribute* find(std::string_view name) const {
    const auto it = items_.find(name);
    return it == items_.end() ? nullptr : &it->second;
  }
  // Typed access; a missing name or another type is a bug (ops are checked against their definition when built).
  bool boolean(std::string_view name) const { return get<bool>(name); }
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }
  const std::string& string(std::string_view name) const { return get<std::string>(name); }
  DType dtype(std::string_view name) const { return get<DType>(name); }
  const std::vector<std::int64_t>& integers(std::string_view name) const {
    return get<std::vector<std::int64_t>>(name);
  }
  const std::vector<double>& reals(std::string_view name) const { return get<std::vector<double>>(name); }

  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  template <class T>
  const T& get(std::string_view name) const;
  std::map<std::string, Attribute, std::less<>> items_;
};

// "3", "0.5", "true", "\"text\"", "f32", "[1,2]", "[0.5,1.0]"; reals round-trip exactly.
std::string to_string(const Attribute& attribute);

}  // namespace ridgeline
