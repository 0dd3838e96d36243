// ridgeline/train/recipe/dump_settings.h
//
// The settings of a run's dumps, as in the original's dump_config, under its names. A plain value.
#pragma once

#include <string>

namespace ridgeline::train {

struct StepDumpOptions;  // callback/step_dump.h

struct DumpSettings {
  std::string path;             // dump_path: an existing folder; empty: no dumps
  std::string step;             // dump_step: "0|3-5|10", the first one is 0; empty: all
  std::string mode = "output";  // dump_mode: what each op reads (input), makes (output), or both (all)
  std::string debug_mode;       // dump_debug_mode: aicore_overflow or all: only ops that overflow
  std::string data = "tensor";  // dump_data: or stats, a table of numbers
  std::string layer;            // dump_layer: names of ops, separated by blanks, * and ? as wildcards; empty: all
};
// The options for these settings. Errors (usage) name setting, value and what is allowed.
StepDumpOptions step_dump_options(const DumpSettings& settings);

}  // namespace ridgeline::train
