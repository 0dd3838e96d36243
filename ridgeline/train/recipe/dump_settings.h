// ridgeline/train/recipe/dump_settings.h
//
// Dumps of a run as the original's dump_config describes them, under its names. A plain value.
#pragma once

#include <string>

namespace ridgeline::train {

struct StepDumpOptions;  // callback/step_dump.h

struct DumpSettings {
  std::string path;             // dump_path: a folder that is there; empty: nothing is dumped
  std::string step;             // dump_step: "0|3-5|10", the first one is 0; empty: all
  std::string mode = "output";  // dump_mode: of each op what it reads (input), makes (output), or both (all)
  std::string debug_mode;       // dump_debug_mode: aicore_overflow or all: only ops that overflow
  std::string data = "tensor";  // dump_data: or stats, a table of numbers
  std::string layer;            // dump_layer: names of ops by blanks, * and ? stand for any; empty: all
};
// What they ask for. Errors (usage) name setting, value and what is allowed.
StepDumpOptions step_dump_options(const DumpSettings& settings);

}  // namespace ridgeline::train
