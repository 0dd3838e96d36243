// ridgeline/train/checkpoint/run_settings.h
//
// What a run was told beside its model, by name: kept in its checkpoints, so that a run that goes on can say what is
// different now. Which settings there are, and what another value of each makes of the run, its caller tells (of the
// recipe: recipe/kept_settings.h). No path, host, worker or loop value. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "ridgeline/core/error.h"

namespace ridgeline::train {

using SettingValue = std::variant<bool, std::int64_t, double, std::string>;

// As a flag's value is written: "True", "0.06", "128".
std::string value_text(const SettingValue& value);

struct RunSettings {
  std::map<std::string, SettingValue, std::less<>> values;

  // nullptr: there is none of that name.
  const SettingValue* find(std::string_view name) const {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : &found->second;
  }
  // `otherwise` where there is none; an Error where it is of another type.
  template <class T>
  T get(std::string_view name, T otherwise) const {
    const SettingValue* value = find(name);
    if (value == nullptr) return otherwise;
    if (const T* found = std::get_if<T>(value)) return *found;
    throw Error("[run settings] " + std::string(name) + " is " + value_text(*value) + ", which is of another type");
  }
  bool operator==(const RunSettings&) const = default;
};

// How one setting is compared.
struct SettingRow {
  std::string name;          // in the file; of a flag its name without hyphens
  bool flag = true;          // the user gives it by a flag of that name
  bool data = false;         // it tells the data apart
  bool defines_run = false;  // else it may change in the middle of a run
  // What files hold that lack it, as they are older than the setting; nullopt: nobody knows, so nothing is compared.
  std::optional<SettingValue> before = {};
};

// A JSON object with one key a setting.
std::string to_json(const RunSettings& settings);
// An Error for a value that is none.
RunSettings settings_from_json(const std::string& text);

}  // namespace ridgeline::train
