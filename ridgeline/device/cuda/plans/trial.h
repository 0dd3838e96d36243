// ridgeline/device/cuda/plans/trial.h
//
// Chooses among a library's execution plans by time, for `--tune`: each runs on its own memory, between two events.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "ridgeline/core/dtype.h"
#include "ridgeline/device/cuda/driver/context.h"

namespace ridgeline::cuda {

// Work to be timed, or whose result is examined.
struct Trial {
  std::vector<std::size_t> bytes;  // of each of its values
  std::size_t result = 0;          // which of them is written
  DType type = DType::f32;         // of that one
  std::size_t workspace_bytes = 0;
  // Enqueues the work once on the stream; throws if the library cannot.
  std::function<void(void* const* values, void* workspace, StreamHandle stream)> run;
};

// Milliseconds of one run; infinite for one that fails. Tests pass their own clock.
using TrialClock = std::function<double(const Trial&)>;

// The clock of a card. Values are small random numbers of the values' types: zeros would run faster. It has its own
// stream and memory, freed with the clock; if the card has no room for a trial, its time is infinite.
TrialClock card_clock(std::shared_ptr<Context> context);

// Whether NaN in all operands gives NaN in the result. Some engines' relu turns it into 0, and the library's notes do
// not tell which.
using NanProbe = std::function<bool(const Trial&)>;

// Runs on a card and checks the first elements of the result; false if the trial fails or has no room.
NanProbe card_nan_probe(std::shared_ptr<Context> context);

}  // namespace ridgeline::cuda
