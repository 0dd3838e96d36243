// ridgeline/train/precision_options.h
//
// The precision options of a run, from its flags, and the policy made from them. Files are read when the policy is
// made; wrong names, values and combinations are Errors (usage) before any training.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/graph/pass/precision_policy.h"

namespace ridgeline::train {

struct PrecisionOptions {
  std::string mode;                    // of precision_mode; empty: not given
  std::string mode_v2;                 // of precision_mode_v2; at most one of the two
  std::string modify_mixlist;          // JSON file with changes of the op lists; only for the mixed modes
  std::string keep_dtype;              // file with an op, a scope or OpType::NAME on each line, which keep their types
  std::string customize_dtypes;        // file with an op or OpType::NAME and its types on each line
  std::string amp_level;               // O0, O1, O2, O3 or auto, instead of a mode
  std::string device = "cpu";          // where steps run, which decides what `auto` is
  std::string fp16_compute = "exact";  // "exact": f16 values, emulated if the device has none; "bf16": bf16 instead
};

// The mode of that name, mode_v2's if that is given; if neither is, the one that changes nothing.
const PrecisionMode& mode_of(const PrecisionOptions& options);
// The mode's name in precision_mode, or in precision_mode_v2 if it has only that.
std::string name_of(const PrecisionMode& mode);
PrecisionPolicy policy_of(const PrecisionOptions& options);
// Whether the level asks for a dynamic loss scale.
bool scales_loss(const PrecisionOptions& options);
// For the log: "precision allow_mix_precision_bf16: bf16 by the op lists", and a line for each option that has no
// effect or is replaced by another. Empty if only f32 is requested.
std::vector<std::string> describe(const PrecisionOptions& options);

// {"black-list": {"to-remove": [..], "to-add": [..]}, "white-list": {...}} into `policy`. `where` begins messages.
void read_mixlist(const std::string& json, const std::string& where, PrecisionPolicy& policy);
// Lines "NAME" and "OpType::NAME"; blank lines and those that begin with # are ignored.
void read_keep_dtype(const std::string& text, const std::string& where, PrecisionPolicy& policy);
// Lines "NAME::InputDtype:float16,OutputDtype:float32" or "OpType::NAME:InputDtype:..,OutputDtype:..".
void read_customize_dtypes(const std::string& text, const std::string& where, PrecisionPolicy& policy);

}  // namespace ridgeline::train
