// ridgeline/data/minddata/settle.h
//
// Whether two graphs that are not equal give the same samples: writing MindData's format checks its result with it.
#pragma once

#include <string>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// "[MindData JSON] <op> cannot be written: <why>"
Error refusal(const std::string& op, const std::string& why);

// The graph in canonical form: with explicit decode, and arguments that have no effect at a fixed value.
DataGraph settle(const DataGraph& given);

// Where two settled graphs would give different samples ("map as batch"); "" if nowhere.
std::string difference(const DataGraph& a, const DataGraph& b);

}  // namespace ridgeline::data
