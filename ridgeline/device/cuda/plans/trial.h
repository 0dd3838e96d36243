// ridgeline/device/cuda/plans/trial.h
//
// Chooses among plans of a library by time, as `--tune` asks: each runs on memory of its own, between two events.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "ridgeline/core/dtype.h"
#include "ridgeline/device/cuda/driver/context.h"

namespace ridgeline::cuda {

// Work to be timed, or looked at.
struct Trial {
  std::vector<std::size_t> bytes;  // of each of its values
  std::size_t result = 0;          // which of them is written
  DType type = DType::f32;         // of that one
  std::size_t workspace_bytes = 0;
  // Gives it to the stream once; throws where the library cannot.
  std::function<void(void* const* values, void* workspace, StreamHandle stream)> run;
};

// Milliseconds of one run; infinite for one that fails. Tests give a clock of their own.
using TrialClock = std::function<double(const Trial&)>;

// The clock of a card. Values are small random numbers of any type's bits: zeros would run faster. A stream and memory
// are its own, freed with the clock; where the card has no room for a trial, its time is infinite.
TrialClock card_clock(std::shared_ptr<Context> context);

// Whether NaN in all operands gives NaN in the result. Some engines' relu makes 0 of it, and no note of the library
// tells which.
using NanProbe = std::function<bool(const Trial&)>;

// On a card, by the first elements of the result; false where the trial fails or has no room.
NanProbe card_nan_probe(std::shared_ptr<Context> context);

}  // namespace ridgeline::cuda
