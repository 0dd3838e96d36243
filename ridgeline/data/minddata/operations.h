// ridgeline/data/minddata/operations.h
//
// Only the operations of a map of a MindData tree, for callers whose data have no tree. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/minddata/json.h"

namespace ridgeline::data {

// {"operations":[{"tensor_op_name":"Decode","tensor_op_params":{"rgb":true}}, ...]} with the Errors of
// from_minddata_json().
std::vector<Transform> transforms_of_minddata_json(const std::string& text, const MindDataOptions& options = {});

}  // namespace ridgeline::data
