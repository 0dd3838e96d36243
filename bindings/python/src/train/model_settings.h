// bindings/python/src/train/model_settings.h
//
// The settings of a ridgeline.train.Model that are one value each, a row each: the constructor takes them by the table,
// what they are where nothing is said is told by it (a test holds the signature in Python to that), and ranks that
// train together compare what its rows say they must have alike.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model.h"

namespace ridgeline::python {

// A value that Python writes as a text.
struct TextSetting {
  std::string (*text)(const ModelPlan&);
  void (*set)(ModelPlan&, const std::string&);  // an Error (usage) lists what is allowed
};

struct ModelSetting {
  const char* name;
  std::variant<std::string& (*)(ModelPlan&), bool& (*)(ModelPlan&), int& (*)(ModelPlan&), std::int64_t& (*)(ModelPlan&),
               std::uint64_t& (*)(ModelPlan&), double& (*)(ModelPlan&), TextSetting>
      field;
  bool alike = true;  // among ranks
};

std::span<const ModelSetting> model_settings();

// Those that are in the dict, out of it.
void take_settings(ModelPlan& plan, nb::dict& settings);
// {name: value} of a plan.
nb::dict settings_to_python(const ModelPlan& plan);
// What ranks compare, as texts.
std::vector<std::pair<std::string, std::string>> settings_alike(const ModelPlan& plan);

}  // namespace ridgeline::python
