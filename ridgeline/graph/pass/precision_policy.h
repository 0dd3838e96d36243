// ridgeline/graph/pass/precision_policy.h
//
// What the precision pass is told: the mode, what the user changed in the op lists, ops that keep their types, and
// types given for single ops. Plain values; an empty policy changes nothing.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/core/dtype.h"

namespace ridgeline {

// white: always in the low type. black: always in f32. gray: in the low type if their operands already are.
enum class PrecisionList { white, black, gray };
std::string_view name_of(PrecisionList list);

// Which ops a mode moves to the low type. If the device has no kernel for one of the two types, the other is used.
enum class PrecisionRewrite {
  none,
  lists,               // by the op lists
  matrix,              // only products and convolutions
  matrix_f32_results,  // the same, with results in f32
  everything,          // all except updates and ops that read masters
  where_needed,        // only what the device has no f32 kernel for
};

struct PrecisionMode {
  std::string_view name;     // in precision_mode; empty: none
  std::string_view v2_name;  // in precision_mode_v2; empty: none
  PrecisionRewrite rewrite = PrecisionRewrite::none;
  DType low = DType::f32;
  std::string_view doc;
};

// All modes, the one that changes nothing first.
std::span<const PrecisionMode> precision_modes();
// The mode of that name in precision_mode or in precision_mode_v2. Anything else is an Error (usage) with the legal
// values; names that the original knows but does not support are refused with that reason.
const PrecisionMode& precision_mode_named(std::string_view name);
const PrecisionMode& precision_mode_v2_named(std::string_view name);

// The types of one op, or of all ops of a kind.
struct PrecisionOverride {
  bool by_name = true;  // `key` is the name of a node; else of an op
  std::string key;
  DType operands = DType::f32;  // f32, bf16 or f16
  DType results = DType::f32;   // the same, or f32 if the op supports it
};

struct PrecisionPolicy {
  PrecisionRewrite rewrite = PrecisionRewrite::none;
  DType low = DType::f32;
  std::map<std::string, PrecisionList, std::less<>> moved;  // ops whose list the user changed
  std::vector<std::string> keep;                            // names of ops or scopes; their gradients' ops, too
  std::vector<std::string> keep_ops;                        // kinds of ops
  std::vector<PrecisionOverride> overrides;                 // those by name count before those by op

  static PrecisionPolicy of(const PrecisionMode& mode) {
    PrecisionPolicy policy;
    policy.rewrite = mode.rewrite;
    policy.low = mode.low;
    return policy;
  }
};

}  // namespace ridgeline
