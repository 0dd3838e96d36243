// ridgeline/train/recipe/run_option_readers.h
//
// Converts options of the run configuration whose value is more than the text of one setting. Functions only; `at`
// begins their Errors (usage).
#pragma once

#include <string>

#include "ridgeline/format/text/json_value.h"
#include "ridgeline/train/recipe/run_config.h"

namespace ridgeline::train {

// A text, a number or a boolean as a flag's value is written.
std::string scalar_text(const JsonValue& value, const std::string& at);

// The text of accelerate_train_mode; an empty one is off.
void read_accelerate_train_mode(const JsonValue& value, const std::string& at, RunConfig& config);
// 0 or 1: reproducibility.
void read_deterministic(const JsonValue& value, const std::string& at, RunConfig& config);
// {"enable": true, "options": {"output": DIR, ...}}, options also as the text of such an object: trace.
void read_profiling(const JsonValue& value, const std::string& at, RunConfig& config);
// {"enable_dump": true, "dump_path": DIR, "dump_step": "0|3-5", ...} or, in its place, "enable_dump_debug": dump_path
// and the settings of the same names.
void read_dump(const JsonValue& value, const std::string& at, RunConfig& config);
// A path to {"Switch": {"GraphFusion": {"ALL": "off", "PASS": "on"}, "UBFusion": {...}}}: disable_pass. A name takes
// precedence over ALL, which means all passes that merge ops. If ALL or the pass that makes loops is on, fusion is set,
// too.
void read_fusion_switch(const JsonValue& value, const std::string& at, RunConfig& config);
// [20, 35]: split_strategy_by_idx=20,35.
void read_all_reduce_fusion(const JsonValue& value, const std::string& at, RunConfig& config);

}  // namespace ridgeline::train
