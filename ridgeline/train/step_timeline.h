// ridgeline/train/step_timeline.h
//
// What `ridgeline plan` needs to know of a step to estimate it on other machines: its launches with their times, and
// when which gradients are finished. `bench step --json` writes it.
#pragma once

#include <string>

#include "ridgeline/comm/model/replay.h"
#include "ridgeline/compile/run/program.h"

namespace ridgeline::train {

// The timeline of the last profiled run of a training step. A gradient is finished by the launch that makes the
// gradient operand of an update; if the update computes it itself, by the launch of the update.
comm::StepTimeline timeline_of(const Program& program);

struct MeasuredStep {
  std::string model;
  std::int64_t batch_size = 1;
  double milliseconds = 0;  // the whole step, if launches are not timed one by one
  comm::StepTimeline timeline;
};

// Reads the JSON of `bench step --json`. An Error (kind usage) names the file and the field that is missing or wrong.
MeasuredStep read_measured_step(const std::string& path);

}  // namespace ridgeline::train
