// ridgeline/train/recipe/compile_statistics.h
//
// The original's fusion_result.json: how often each fusing pass found something in the training step.
#pragma once

#include <string>

#include "ridgeline/train/model.h"

namespace ridgeline::train {

// [{"session_and_graph_id": "0_0", "graph_fusion": {PASS: {"match_times": "12", "effect_times": "12"}, ...},
// "ub_fusion": {}}]: ops that were merged, and those of them that stayed so, as text. There is no second level of
// fusion here, so ub_fusion is empty. Returns the line for the log. After Model::prepare_training().
std::string write_compile_statistics(Model& model, const std::string& directory);

}  // namespace ridgeline::train
