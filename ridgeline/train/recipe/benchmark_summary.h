// ridgeline/train/recipe/benchmark_summary.h
//
// The result of a benchmark run in the format of the original's performance scripts: `key = value` lines in a file
// named after the case.
#pragma once

#include <string>

#include "ridgeline/train/recipe/trainer.h"

namespace ridgeline::train {

// Steps of --benchmark if nothing else limits the run.
inline constexpr std::int64_t kBenchmarkSteps = 5000;

// "alexnet_bs256_1p_perf" of one rank.
std::string case_name(const Recipe& recipe, std::int64_t ranks);
// Network, RankSize, BatchSize (of a rank), DeviceType, CaseName, ActualFPS (mean of the log lines except the first,
// all ranks together); with several ranks FPSPerDevice, SingleDeviceFPS (one rank's step without the others, measured
// before the run) and ScalingEfficiency, their quotient, 1 for perfect scaling; TrainingTime (milliseconds a step),
// ActualLoss, TrainAccuracy (top-1 of the last evaluation in percent; "none" without one), E2ETrainingTime (seconds).
// One `key = value` a line.
std::string benchmark_summary(const Recipe& recipe, const TrainingResult& result, double seconds);

}  // namespace ridgeline::train
