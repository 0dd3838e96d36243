// ridgeline/train/checkpoint/run_settings.h
//
// The settings of a run other than its model, by name: kept in its checkpoints, so that a resumed run can report
// differences. The caller defines which settings exist and what a changed value means (for the recipe:
// recipe/kept_settings.h). No path, host, worker or loop value. Plain values.
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

// The value as text, as for a flag: "True", "0.06", "128".
std::string value_text(const SettingValue& value);

struct RunSettings {
  std::map<std::string, SettingValue, std::less<>> values;

  // nullptr: no setting of that name.
  const SettingValue* find(std::string_view name) const {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : &found->second;
  }
  // `otherwise` if there is none; an Error if it has another type.
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
  std::string name;          // in the file; for a flag its name without hyphens
  bool flag = true;          // the user gives it by a flag of that name
  bool data = false;         // it identifies the data
  bool defines_run = false;  // else it may change when a run is resumed
  // The value to assume for files that are older than the setting; nullopt: unknown, so it is not compared.
  std::optional<SettingValue> before = {};
  std::string flags = {};  // that a setting combines: "--freeze, --lr_scale"
};

// A JSON object with one key for each setting.
std::string to_json(const RunSettings& settings);
// An Error for an invalid value.
RunSettings settings_from_json(const std::string& text);

}  // namespace ridgeline::train
