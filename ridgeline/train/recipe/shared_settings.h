// ridgeline/train/recipe/shared_settings.h
//
// The settings that must be equal in all processes of a run, by the verdicts of the options (option_verdict.h): the
// processes compute one step together, and each compiles its own.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// By name, flags with their hyphens. The path of the data may differ.
std::vector<std::pair<std::string, std::string>> shared_settings(const Recipe& recipe, const CheckpointInfo& info,
                                                                 std::int64_t steps);

}  // namespace ridgeline::train
