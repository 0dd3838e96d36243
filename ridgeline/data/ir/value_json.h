// ridgeline/data/ir/value_json.h
//
// Reads arguments from JSON, for our graphs and for MindData's files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "ridgeline/data/ir/value.h"

namespace ridgeline::data {

// The value as that type; nullopt if it has another type, or is an integer that does not fit signed 64 bits. A real may
// be written as an integer. nullopt for tensors, which have no JSON.
std::optional<Value> value_from_json(const nlohmann::json& json, ArgType type);

}  // namespace ridgeline::data
