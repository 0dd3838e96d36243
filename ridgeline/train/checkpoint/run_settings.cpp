#include "ridgeline/train/checkpoint/run_settings.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ridgeline::train {
namespace {

SettingValue value_of(const std::string& name, const nlohmann::json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  throw Error(
      fmt::format("[run settings] {} is {}; a text, a number or a truth value is meant", name, value.type_name()));
}

}  // namespace

std::string value_text(const SettingValue& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, bool>)
          return held ? "True" : "False";
        else
          return fmt::format("{}", held);
      },
      value);
}

std::string to_json(const RunSettings& settings) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, value] : settings.values)
    std::visit([&object, &key = name](const auto& held) { object[key] = held; }, value);
  return object.dump();
}

RunSettings settings_from_json(const std::string& text) {
  try {
    RunSettings settings;
    for (const auto& [name, value] : nlohmann::json::parse(text).get<std::map<std::string, nlohmann::json>>())
      settings.values.emplace(name, value_of(name, value));
    return settings;
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("[run settings] ") + error.what());
  }
}

}  // namespace ridgeline::train
