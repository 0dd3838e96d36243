// ridgeline/cli/step_tables.h
//
// Tables that explain a step's time, as text: launch by launch, and by kinds of ops compared with the machine's limits.
#pragma once

#include <span>
#include <string>

#include "ridgeline/compile/run/balance.h"
#include "ridgeline/compile/run/measure.h"

namespace ridgeline::cli {

// A line for each launch of the last profiled run that took `least` milliseconds or more: its time, the time before it
// in which none ran, FLOPs by the formula and as done, bytes, and its share of the limit.
std::string launch_table(std::span<const LaunchReport> launches, const DeviceRates& limits, double least);

// Kinds of ops that took a hundredth of the step or more, as a Markdown table, the rest in one line; then the three
// that are farthest from their limits, and the time between launches.
std::string part_table(std::span<const LaunchReport> launches, const DeviceRates& limits);

// How the work of each launch that takes a two-hundredth of the step or more, and of the whole step, divides among the
// team, as a Markdown table.
std::string balance_table(std::span<const LaunchReport> launches, const StepBalance& balance);

}  // namespace ridgeline::cli
