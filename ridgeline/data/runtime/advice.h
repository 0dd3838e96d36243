// ridgeline/data/runtime/advice.h
//
// What would help a consumer that waits for batches, with the names of settings that the reader knows.
#pragma once

#include <string>

#include "ridgeline/data/runtime/stats.h"

namespace ridgeline::data {

// Names of the settings in the advice: fields by default, flags on a command line.
struct AdviceWords {
  std::string workers = "num_workers", memory = "memory_limit", image_size = "image_size";
};

// RunStats::advice() in these words.
std::string advice_of(const RunStats& stats, const AdviceWords& words);

}  // namespace ridgeline::data
