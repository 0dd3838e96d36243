// ridgeline/graph/pass/precision_rules.h
//
// What the precision pass knows of each op: its list, from the table of the Ascend 910, under our names, and which of
// its operands and results are always f32. One row for each op; a test fails without one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/graph/pass/precision_policy.h"

namespace ridgeline {

enum class PrecisionRole {
  matrix,  // sums of products; has the attribute "f32_results"
  vector,
  fixed,  // never changed: it reads or writes masters, sets its own types, or has no floating operand
};

struct PrecisionRule {
  std::string_view op;
  PrecisionList list = PrecisionList::gray;
  PrecisionRole role = PrecisionRole::vector;
  unsigned wide = 0;             // operands, by bit, that stay f32: parameters, statistics, masks
  bool master_gradient = false;  // its results are gradients of f32 masters: never rounded in the list modes
  std::string_view original;     // the original's names for it, by commas; empty: it has none
  std::string_view reason;       // if the list is not the original's
};

// Ordered as they are documented. After the table come the ops that compilation makes of others (OpDef::made_of), with
// the rules of those; loops and calls have none.
std::span<const PrecisionRule> precision_rules();
// The row of an op, or nullptr.
const PrecisionRule* find_precision_rule(std::string_view op);
// Our ops with this name, ours or the original's (which may stand for several of ours). Empty: unknown.
std::vector<std::string> ops_called(std::string_view name);
// All names that ops_called knows, for messages.
std::vector<std::string> precision_op_names();
// The table as text, for docs/precision-lists.md.
std::string describe_precision_rules();

}  // namespace ridgeline
