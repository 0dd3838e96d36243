// ridgeline/train/accelerate.h
//
// Stepped precision, an experiment: most of a run in reduced precision, the rest in the precision that the recipe asks
// for. What accelerate_train_mode says, and when the switch is due. Plain values and functions.
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
  double ratio = 0.9;  // of all steps that are done in reduced precision; of the target loss that ends it
};

// "fast|step|0.9": fast (f16) or fast1 (bf16), step or loss, and a ratio in [0.2, 0.9] or [1.01, 1.5], which is 0.9 or
// 1.05 where it is left out. Empty: none. Anything else is an Error (usage).
std::optional<AccelerateMode> parse_accelerate_mode(const std::string& text);

// As it is written, with the ratio: "fast|step|0.9".
std::string text_of(const AccelerateMode& mode);

// An option that may be changed in later versions. The default is off.
struct ExperimentalConfig {
  ExperimentalConfig() = default;
  explicit ExperimentalConfig(const std::string& accelerate_train_mode)
      : accelerate(parse_accelerate_mode(accelerate_train_mode)) {}
  std::optional<AccelerateMode> accelerate;
};

// `options` with the mixed mode of that type in the place of its mode. Only where the mode is must_keep_origin_dtype
// (or amp_level O0, which is the same), allow_fp32_to_fp16, origin or not given; else an Error (usage).
PrecisionOptions reduced_precision(const AccelerateMode& mode, const PrecisionOptions& options);
// The options of a run's other steps and of its evaluations, without changes of op lists, which are for the reduced
// precision alone. Without a mode: `options` as they are.
PrecisionOptions original_precision(const std::optional<AccelerateMode>& mode, const PrecisionOptions& options);
// For the log, both: lines as describe() (precision_options.h) has them.
std::vector<std::string> describe(const AccelerateMode& mode, const PrecisionOptions& options);

// How far a run is, as its hook tells; the environment's STEP_NOW, TOTAL_STEP, LOSS_NOW and TARGET_LOSS count before
// it.
struct TrainingProgress {
  std::optional<std::int64_t> step_now, total_step;
  std::optional<double> loss_now, target_loss;
};
// `progress` with what the environment says instead. A value that is no number is an Error (usage).
TrainingProgress with_environment(TrainingProgress progress);

// An Error (usage) if neither hook nor environment tells what the trigger needs.
void check_progress(const AccelerateMode& mode, const TrainingProgress& progress);
// The step asked for; for the trigger `step`.
std::int64_t switch_step(const AccelerateMode& mode, const TrainingProgress& progress);
// Before a loop of at most `loop` steps: whether it is to run in the original precision. By steps: from switch_step on,
// and the last loop in any case. By loss: once a loss was told (0: none yet) that is at most ratio times the target.
bool switch_due(const AccelerateMode& mode, const TrainingProgress& progress, std::int64_t loop);

}  // namespace ridgeline::train
