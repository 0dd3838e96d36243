// bindings/python/src/train/model_settings.h
//
// The table of settings of a ridgeline.train.Model, one row per setting. It defines the constructor's arguments and
// their defaults (a test compares the Python signature with it), and which settings must be equal on all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model.h"

namespace ridgeline::python {

// A value that is a text in Python.
struct TextSetting {
  std::string (*text)(const ModelPlan&);
  void (*set)(ModelPlan&, const std::string&);  // an Error (usage) lists the allowed values
};

struct ModelSetting {
  const char* name;
  std::variant<std::string& (*)(ModelPlan&), bool& (*)(ModelPlan&), int& (*)(ModelPlan&), std::int64_t& (*)(ModelPlan&),
               std::uint64_t& (*)(ModelPlan&), double& (*)(ModelPlan&), TextSetting>
      field;
  bool alike = true;  // on all ranks
};

std::span<const ModelSetting> model_settings();

// Removes the settings from the dict and returns them.
void take_settings(ModelPlan& plan, nb::dict& settings);
// {name: value} of the settings.
nb::dict settings_to_python(const ModelPlan& plan);
// The settings that ranks compare, as texts.
std::vector<std::pair<std::string, std::string>> settings_alike(const ModelPlan& plan);

}  // namespace ridgeline::python
