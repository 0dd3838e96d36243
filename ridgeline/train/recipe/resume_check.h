// ridgeline/train/recipe/resume_check.h
//
// Whether a recipe's run may go on from a checkpoint: what the checkpoint was made with against what the run is told
// now. Values in, sentences about flags out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/train/checkpoint/checkpoint.h"

namespace ridgeline::train {

// Which model of which data a checkpoint is of: names of flags and their values.
std::vector<std::pair<std::string, std::string>> identity_of(const CheckpointInfo& info);

// What a checkpoint says of its classifier. An Error where it is of a network of somebody's own.
const ClassifierInfo& classifier_of(const CheckpointInfo& info);

// `rows` tells how each setting is compared. `now` is what this run would save (with settings), `graph_hash` that of
// its data graph (0: synthetic). Differences that make another run are an Error that names them all and how to go on or
// begin anew; the others come back, one sentence each: they hold from here on. Files of format version 1 are compared
// by what they have.
std::vector<std::string> check_resume(std::span<const SettingRow> rows, const CheckpointFile& file,
                                      const CheckpointInfo& saved, const CheckpointInfo& now, std::uint64_t graph_hash);

}  // namespace ridgeline::train
