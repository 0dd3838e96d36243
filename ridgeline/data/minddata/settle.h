// ridgeline/data/minddata/settle.h
//
// Whether two graphs give the same samples although they are not equal: what writing MindData's form checks with.
#pragma once

#include <string>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// "[MindData JSON] <op> cannot be written: <why>"
Error refusal(const std::string& op, const std::string& why);

// The graph with decode written out and with arguments that have no effect brought to one value.
DataGraph settle(const DataGraph& given);

// Where two settled graphs would give other samples ("map as batch"); "" if nowhere.
std::string difference(const DataGraph& a, const DataGraph& b);

}  // namespace ridgeline::data
