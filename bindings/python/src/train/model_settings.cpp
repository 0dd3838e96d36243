#include "model_settings.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <array>
#include <type_traits>

#include "ridgeline/core/error.h"
#include "ridgeline/train/checkpoint/run_settings.h"
#include "taken.h"

namespace ridgeline::python {
namespace {

constexpr const char *kDataParallel = "data_parallel", *kStandAlone = "stand_alone";

void set_parallel_mode(ModelPlan& plan, const std::string& mode) {
  if (mode != kDataParallel && mode != kStandAlone)
    throw Error("parallel_mode is '" + mode + "' (allowed: " + kDataParallel + ", " + kStandAlone +
                    "; the command line's train divides models, too)",
                ErrorKind::usage);
  plan.stand_alone = mode == kStandAlone;
}

using P = ModelPlan;
constexpr bool kOwn = false;  // may differ between ranks

const std::array kSettings{
    ModelSetting{"device", [](P& p) -> std::string& { return p.session.device; }, kOwn},
    ModelSetting{"threads", [](P& p) -> int& { return p.session.compute_threads; }, kOwn},
    ModelSetting{"labels", [](P& p) -> std::string& { return p.columns.label; }, kOwn},
    ModelSetting{"seed", [](P& p) -> std::uint64_t& { return p.seed; }},
    ModelSetting{"clip_value", [](P& p) -> double& { return p.gradients.clip_value; }},
    ModelSetting{"clip_norm", [](P& p) -> double& { return p.gradients.clip_norm; }},
    ModelSetting{"accumulate", [](P& p) -> std::int64_t& { return p.gradients.accumulate; }},
    ModelSetting{"average", [](P& p) -> double& { return p.average; }},
    ModelSetting{"reproducibility", TextSetting{[](const P& p) { return std::string(name_of(p.session.promise.bits)); },
                                                [](P& p, const std::string& text) {
                                                  p.session.promise.bits = reproducibility_named(text);
                                                }}},
    ModelSetting{"parallel_mode",
                 TextSetting{[](const P& p) { return std::string(p.stand_alone ? kStandAlone : kDataParallel); },
                             set_parallel_mode}},
    ModelSetting{"batch_parts", [](P& p) -> std::int64_t& { return p.batch_parts; }},
    ModelSetting{"sync_batch_norm", [](P& p) -> bool& { return p.sync_batch_norm; }},
};

template <class Field>
constexpr bool is_text = std::is_same_v<std::decay_t<Field>, TextSetting>;

}  // namespace

std::span<const ModelSetting> model_settings() { return kSettings; }

void take_settings(ModelPlan& plan, nb::dict& settings) {
  for (const ModelSetting& setting : model_settings()) {
    std::visit(
        [&](const auto& field) {
          if constexpr (is_text<decltype(field)>) {
            field.set(plan, taken(settings, setting.name, field.text(plan)));
          } else {
            field(plan) = taken(settings, setting.name, field(plan));
          }
        },
        setting.field);
  }
}

nb::dict settings_to_python(const ModelPlan& plan) {
  nb::dict all;
  ModelPlan copy = plan;
  for (const ModelSetting& setting : model_settings()) {
    all[setting.name] = std::visit(
        [&](const auto& field) -> nb::object {
          if constexpr (is_text<decltype(field)>)
            return nb::cast(field.text(copy));
          else
            return nb::cast(field(copy));
        },
        setting.field);
  }
  return all;
}

std::vector<std::pair<std::string, std::string>> settings_alike(const ModelPlan& plan) {
  std::vector<std::pair<std::string, std::string>> all;
  ModelPlan copy = plan;
  for (const ModelSetting& setting : model_settings()) {
    if (!setting.alike) continue;
    all.emplace_back(setting.name, std::visit(
                                       [&](const auto& field) -> std::string {
                                         if constexpr (is_text<decltype(field)>) {
                                           return field.text(copy);
                                         } else if constexpr (std::is_same_v<decltype(field(copy)), bool&>) {
                                           return train::value_text(field(copy));
                                         } else {
                                           return fmt::format("{}", field(copy));
                                         }
                                       },
                                       setting.field));
  }
  return all;
}

}  // namespace ridgeline::python
