// ridgeline/cli/bad_sample_flags.h
//
// What a sample that cannot be made does: the same three flags for training, evaluation and the data engine's bench.
#pragma once

#include <string>

#include "ridgeline/cli/flags.h"
#include "ridgeline/data/runtime/bad_samples.h"

namespace ridgeline::cli {

struct BadSampleFlags {
  std::string policy = "raise";
  data::BadSampleOptions options;
};

void add_bad_sample_flags(Command& app, BadSampleFlags& flags, const std::string& group);
// An unknown policy, and a budget or a quarantine under `raise`, which has no use for them, are usage Errors.
data::BadSampleOptions finish_bad_sample_flags(const Command& app, const BadSampleFlags& flags);

}  // namespace ridgeline::cli
