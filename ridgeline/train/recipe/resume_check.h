// ridgeline/train/recipe/resume_check.h
//
// Whether a recipe's run may be resumed from a checkpoint: compares the checkpoint's settings with the run's. Pure
// functions that return sentences about flags.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/train/checkpoint/checkpoint.h"

namespace ridgeline::train {

// The identity of a checkpoint's model and data: names of flags and their values.
std::vector<std::pair<std::string, std::string>> identity_of(const CheckpointInfo& info);

// A checkpoint's classifier. An Error if it is of a user's own network.
const ClassifierInfo& classifier_of(const CheckpointInfo& info);

// `rows` says how each setting is compared. `now` is what this run would save (with settings), `graph_hash` that of its
// data graph (0: synthetic). Differences that make another run are an Error that names them all and how to resume or
// start over; the others are returned, one sentence each: they apply from here on. Files of format version 1 are
// compared by what they have.
std::vector<std::string> check_resume(std::span<const SettingRow> rows, const CheckpointFile& file,
                                      const CheckpointInfo& saved, const CheckpointInfo& now, std::uint64_t graph_hash);

}  // namespace ridgeline::train
