// ridgeline/train/checkpoint/same_run.h
//
// For users' own networks: what a checkpoint records of its run, and whether a model can resume from it. Functions
// only.
#pragma once

#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/model.h"

namespace ridgeline::train {

// Writes into `info` the seed, and whether the data use it, too.
void tell_run(const Model& model, CheckpointInfo& info);
// An Error for a checkpoint of another network or seed, whose data and dropout would differ.
void check_same_run(const LoadedCheckpoint& loaded, const Model& model);

}  // namespace ridgeline::train
