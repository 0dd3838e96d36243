// ridgeline/train/accelerate.h
//
// Stepped precision, an experiment: most of a run in reduced precision, the rest in the recipe's precision. The value
// of accelerate_train_mode, and when the switch is due. Plain values and functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/train/precision_options.h"

namespace ridgeline::train {

struct AccelerateMode {
  enum class Trigger { step, loss };
  std::string type = "fast";  // or fast1
  Trigger trigger = Trigger::step;
  double ratio = 0.9;  // share of all steps in reduced precision; or the multiple of the target loss that ends it
};

// "fast|step|0.9": fast (f16) or fast1 (bf16), step or loss, and a ratio in [0.2, 0.9] or [1.01, 1.5], by default 0.9
// or 1.05. Empty: none. Anything else is an Error (usage).
std::optional<AccelerateMode> parse_accelerate_mode(const std::string& text);

// The mode as text, with the ratio: "fast|step|0.9".
std::string text_of(const AccelerateMode& mode);

// An option that may be changed in later versions. The default is off.
struct ExperimentalConfig {
  ExperimentalConfig() = default;
  explicit ExperimentalConfig(const std::string& accelerate_train_mode)
      : accelerate(parse_accelerate_mode(accelerate_train_mode)) {}
  std::optional<AccelerateMode> accelerate;
};

// `options` with its mode replaced by the mixed mode of that type. The mode must be must_keep_origin_dtype (or
// amp_level O0, which is the same), allow_fp32_to_fp16, origin or not given; else an Error (usage).
PrecisionOptions reduced_precision(const AccelerateMode& mode, const PrecisionOptions& options);
// The options for a run's other steps and its evaluations, without changes of op lists, which are only for the reduced
// precision. Without a mode: `options` as they are.
PrecisionOptions original_precision(const std::optional<AccelerateMode>& mode, const PrecisionOptions& options);
// Both for the log: lines as of describe() (precision_options.h).
std::vector<std::string> describe(const AccelerateMode& mode, const PrecisionOptions& options);

// How far a run is, as told by its hook; the environment's STEP_NOW, TOTAL_STEP, LOSS_NOW and TARGET_LOSS take
// precedence.
struct TrainingProgress {
  std::optional<std::int64_t> step_now, total_step;
  std::optional<double> loss_now, target_loss;
};
// `progress` with the environment's values. A value that is not a number is an Error (usage).
TrainingProgress with_environment(TrainingProgress progress);

// An Error (usage) if neither hook nor environment tells what the trigger needs.
void check_progress(const AccelerateMode& mode, const TrainingProgress& progress);
// The step of the switch, for the trigger `step`.
std::int64_t switch_step(const AccelerateMode& mode, const TrainingProgress& progress);
// Whether the next loop, of at most `loop` steps, is to run in the original precision. By steps: from switch_step on,
// and always the last loop. By loss: once a loss was reported (0: none yet) that is at most ratio times the target.
bool switch_due(const AccelerateMode& mode, const TrainingProgress& progress, std::int64_t loop);

}  // namespace ridgeline::train
