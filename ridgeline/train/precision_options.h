// ridgeline/train/precision_options.h
//
// What a run is told about precision, as its flags give it, and the policy that follows from it. Files are read when
// the policy is made; wrong names, values and combinations are Errors (usage) before any training.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/graph/pass/precision_policy.h"

namespace ridgeline::train {

struct PrecisionOptions {
  std::string mode;                    // of precision_mode; empty: not given
  std::string mode_v2;                 // of precision_mode_v2; at most one of the two
  std::string modify_mixlist;          // JSON file with changes of the op lists; for the mixed modes alone
  std::string keep_dtype;              // file: an op, a scope or OpType::NAME a line, which keep their types
  std::string customize_dtypes;        // file: a line an op or OpType::NAME, with its types
  std::string amp_level;               // O0, O1, O2, O3 or auto, in the place of a mode
  std::string device = "cpu";          // where steps run, which decides what `auto` is
  std::string fp16_compute = "exact";  // "exact": f16 values, emulated where the device has none; "bf16": bf16 instead
};

// The mode by its name, mode_v2's where that is given; the one that changes nothing where none is.
const PrecisionMode& mode_of(const PrecisionOptions& options);
// Its name in precision_mode, or in precision_mode_v2 where it has that one alone.
std::string name_of(const PrecisionMode& mode);
PrecisionPolicy policy_of(const PrecisionOptions& options);
// Whether the level asks for a dynamic loss scale.
bool scales_loss(const PrecisionOptions& options);
// For the log: "precision allow_mix_precision_bf16: bf16 by the op lists", and a line for what has no effect or stands
// in for something else. Empty where nothing but f32 is asked for.
std::vector<std::string> describe(const PrecisionOptions& options);

// {"black-list": {"to-remove": [..], "to-add": [..]}, "white-list": {...}} into `policy`. `where` begins messages.
void read_mixlist(const std::string& json, const std::string& where, PrecisionPolicy& policy);
// Lines "NAME" and "OpType::NAME"; blank ones and those that begin with # count for nothing.
void read_keep_dtype(const std::string& text, const std::string& where, PrecisionPolicy& policy);
// Lines "NAME::InputDtype:float16,OutputDtype:float32" or "OpType::NAME:InputDtype:..,OutputDtype:..".
void read_customize_dtypes(const std::string& text, const std::string& where, PrecisionPolicy& policy);

}  // namespace ridgeline::train
