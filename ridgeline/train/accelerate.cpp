#include "ridgeline/train/accelerate.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline::train {
namespace {

struct AccelerateType {
  std::string_view name, mode, mode_v2;
};
constexpr std::array<AccelerateType, 2> kTypes{{
    {"fast", "allow_mix_precision_fp16", "mixed_float16"},
    {"fast1", "allow_mix_precision_bf16", "mixed_bfloat16"},
}};

struct AccelerateTrigger {
  std::string_view name;
  AccelerateMode::Trigger trigger;
  double ratio, least, most;
  std::string_view range;
};
constexpr std::array<AccelerateTrigger, 2> kTriggers{{
    {"step", AccelerateMode::Trigger::step, 0.9, 0.2, 0.9, "0.2-0.9"},
    {"loss", AccelerateMode::Trigger::loss, 1.05, 1.01, 1.5, "1.01-1.5"},
}};

[[noreturn]] void refuse_mode(const std::string& text) { throw Error(text, ErrorKind::usage); }

template <class Rows>
const auto& named_part(const Rows& rows, const std::string& part, const char* place) {
  std::string names;
  for (const auto& row : rows) {
    if (row.name == part) return row;
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  refuse_mode("accelerate_train_mode " + std::string(place) + " part is invalid: " + part +
              ", you can choose one of `" + names + "`");
}

template <class Number>
std::optional<Number> number_in(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class Number>
void override_from(const char* name, const char* meaning, std::optional<Number>& target) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return;
  target = number_in<Number>(text);
  if (!target || *target < 0) refuse_mode(std::string(name) + " is invalid, should be " + meaning);
}

}  // namespace

std::string text_of(const AccelerateMode& mode) {
  std::string text = mode.type;
  for (const AccelerateTrigger& row : kTriggers) {
    if (row.trigger == mode.trigger) text += "|" + std::string(row.name);
  }
  return fmt::format("{}|{}", text, mode.ratio);
}

std::optional<AccelerateMode> parse_accelerate_mode(const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts.size() != 2 && parts.size() != 3) refuse_mode("Format of accelerate_train_mode is invalid: " + text);
  AccelerateMode mode;
  mode.type = named_part(kTypes, parts[0], "first").name;
  const AccelerateTrigger& trigger = named_part(kTriggers, parts[1], "second");
  mode.trigger = trigger.trigger;
  mode.ratio = trigger.ratio;
  if (parts.size() == 2 || parts[2].empty()) return mode;
  const std::string third = "accelerate_train_mode third part is invalid: " + parts[2] + " ,you can choose ";
  const std::optional<double> ratio = number_in<double>(parts[2]);
  if (!ratio) refuse_mode(third + "`0.9` for `step` or `1.02` for `loss`");
  if (!(*ratio >= trigger.least && *ratio <= trigger.most)) {
    refuse_mode(third + "`" + std::string(trigger.range) + "` for `" + std::string(trigger.name) + "`");
  }
  mode.ratio = *ratio;
  return mode;
}

PrecisionOptions reduced_precision(const AccelerateMode& mode, const PrecisionOptions& options) {
  const AccelerateType& type = named_part(kTypes, mode.type, "first");
  PrecisionOptions reduced = options;
  const auto refuse = [&](const char* option, const std::string& value) {
    refuse_mode("accelerate fast_value:" + mode.type + " is not support with " + option + ": " + value);
  };
  if (!options.mode_v2.empty()) {
    if (options.mode_v2 != "origin") refuse("PRECISION_MODE_V2", options.mode_v2);
    reduced.mode_v2 = type.mode_v2;
    return reduced;
  }
  if (!options.mode.empty() && options.mode != "allow_fp32_to_fp16" && options.mode != "must_keep_origin_dtype") {
    refuse("PRECISION_MODE", options.mode);
  }
  if (!options.amp_level.empty() && mode_of(options).rewrite != PrecisionRewrite::none)
    refuse("AMP_LEVEL", options.amp_level);
  reduced.amp_level.clear();
  reduced.mode = type.mode;
  return reduced;
}

PrecisionOptions original_precision(const std::optional<AccelerateMode>& mode, const PrecisionOptions& options) {
  PrecisionOptions original = options;
  if (mode) original.modify_mixlist.clear();
  return original;
}

std::vector<std::string> describe(const AccelerateMode& mode, const PrecisionOptions& options) {
  std::vector<std::string> lines = describe(reduced_precision(mode, options));
  const PrecisionMode& last = mode_of(options);
  lines.push_back(fmt::format("precision {} behind the switch: {}", name_of(last), last.doc));
  return lines;
}

TrainingProgress with_environment(TrainingProgress progress) {
  override_from("STEP_NOW", "int, such as 1000", progress.step_now);
  override_from("TOTAL_STEP", "int, such as 1000", progress.total_step);
  override_from("LOSS_NOW", "float, such as 1.5", progress.loss_now);
  override_from("TARGET_LOSS", "float, such as 1.5", progress.target_loss);
  return progress;
}

void check_progress(const AccelerateMode& mode, const TrainingProgress& progress) {
  const auto need = [](bool told, const char* name, const char* trigger) {
    if (told) return;
    refuse_mode(std::string(name) + " is not set, which is needed when accelarate by " + trigger +
                " (TellMeStepOrLossHook tells it)");
  };
  if (mode.trigger == AccelerateMode::Trigger::step) {
    need(progress.total_step.has_value(), "TOTAL_STEP", "step");
    need(progress.step_now.has_value(), "STEP_NOW", "step");
  } else {
    need(progress.target_loss.has_value(), "TARGET_LOSS", "loss");
    need(progress.loss_now.has_value(), "LOSS_NOW", "loss");
  }
}

std::int64_t switch_step(const AccelerateMode& mode, const TrainingProgress& progress) {
  return static_cast<std::int64_t>(static_cast<double>(progress.total_step.value_or(0)) * mode.ratio);
}

bool switch_due(const AccelerateMode& mode, const TrainingProgress& progress, std::int64_t loop) {
  if (mode.trigger == AccelerateMode::Trigger::loss) {
    const double loss = progress.loss_now.value_or(0);
    return loss != 0 && loss <= progress.target_loss.value_or(0) * mode.ratio;
  }
  const std::int64_t now = progress.step_now.value_or(0);
  return now >= switch_step(mode, progress) || now + loop >= progress.total_step.value_or(0);
}

}  // namespace ridgeline::train
