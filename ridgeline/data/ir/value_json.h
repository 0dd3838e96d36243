// ridgeline/data/ir/value_json.h
//
// Arguments as JSON has them: what the readers of our graphs and of MindData's files share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "ridgeline/data/ir/value.h"

namespace ridgeline::data {

// The value as that type; nothing when it is of another, or an integer that does not fit 64 bits with a sign. A real
// may be written as an integer. Tensors have no JSON of their own: nothing.
std::optional<Value> value_from_json(const nlohmann::json& json, ArgType type);

}  // namespace ridgeline::data
