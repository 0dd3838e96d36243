// ridgeline/train/checkpoint/resume_check.h
//
// Whether a run may go on from a checkpoint: what the checkpoint was made with against what the run is told now. Values
// in, sentences out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/train/checkpoint/checkpoint.h"

namespace ridgeline::train {

// `rows` tells how each setting is compared. `now` is what this run would save (with settings), `graph_hash` that of
// its data graph (0: synthetic). Differences that make another run are an Error that names them all and how to go on or
// begin anew; the others come back, one sentence each: they hold from here on. Files of format version 1 are compared
// by what they have.
std::vector<std::string> check_resume(std::span<const SettingRow> rows, const CheckpointFile& file,
                                      const CheckpointInfo& saved, const CheckpointInfo& now, std::uint64_t graph_hash);

}  // namespace ridgeline::train
