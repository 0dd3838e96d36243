// ridgeline/data/runtime/iterator_settings.h
//
// The settings of an iterator by name, one row each, for callers that take them as text or from another language:
// Python, C and the command line read this table. C++ has the fields themselves (IteratorOptions). A new setting costs
// one more row. Functions and constants.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "ridgeline/data/ir/value.h"
#include "ridgeline/data/runtime/iterator.h"

namespace ridgeline::data {

struct IteratorSetting {
  std::string_view name;
  std::string_view help;
  ArgType type;
  void (*set)(IteratorOptions& options, const Value& value);
  // The setting's value in `options`; if absent, some value of its type.
  Value (*get)(const IteratorOptions& options);
  bool may_be_absent = false;                                     // the help says what absence means
  std::int64_t least = std::numeric_limits<std::int64_t>::min();  // of an integer
  bool all_bits = false;  // an integer of 64 bits without a sign: the value has the same bits
};

std::span<const IteratorSetting> iterator_settings();
// For an unknown name an Error (usage) with the nearest setting, or all.
const IteratorSetting& iterator_setting(std::string_view name);
// An Error (usage) names the setting and what is allowed: another type, or a number that is out of range.
void set(IteratorOptions& options, const IteratorSetting& setting, const Value& value);

}  // namespace ridgeline::data
