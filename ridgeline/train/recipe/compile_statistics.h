// ridgeline/train/recipe/compile_statistics.h
//
// The original's fusion_result.json: how often each fusing pass matched in the training step.
#pragma once

#include <string>

#include "ridgeline/train/model.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

// [{"session_and_graph_id": "0_0", "graph_fusion": {PASS: {"match_times": "12", "effect_times": "12"}, ...},
// "ub_fusion": {}}]: numbers of ops that were merged, and of those that stayed merged, as text. There is no second
// level of fusion here, so ub_fusion is empty. A line of the log says where. After
// Model::prepare_training().
void write_compile_statistics(Model& model, const std::string& directory, TrainingLog& log);

}  // namespace ridgeline::train
