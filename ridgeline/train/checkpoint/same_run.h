// ridgeline/train/checkpoint/same_run.h
//
// What a checkpoint of a network of one's own says of its run, and whether a model goes on with it. Functions only.
#pragma once

#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/model.h"

namespace ridgeline::train {

// Writes into `info` the seed, and whether the data have it, too.
void tell_run(const Model& model, CheckpointInfo& info);
// An Error for a checkpoint of another network or seed: data and dropout would be others.
void check_same_run(const LoadedCheckpoint& loaded, const Model& model);

}  // namespace ridgeline::train
