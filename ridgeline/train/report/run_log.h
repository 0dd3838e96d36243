// ridgeline/train/report/run_log.h
//
// The records of a run in its log directory, for comparing runs: the lines of metrics.jsonl, the settings in the newest
// checkpoint's information, and the log's lines before the first step. Reads no weights.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ridgeline::train {

// Times are seconds since 1970; accuracies are percent.
struct TrainPoint {
  std::int64_t step = 0;
  double epoch = 0, loss = 0, total_loss = 0, lr = 0, images_per_second = 0, time = 0;
};
struct EvaluationPoint {
  std::int64_t step = 0;
  double epoch = 0, top_1 = 0, top_5 = 0, loss = 0, time = 0;
  std::int64_t rows = 0;
};

// What the launches of one kind of op took in the last step of a run (callback/step_times.h).
struct StepPartRow {
  std::string op;
  std::int64_t launches = 0;
  double milliseconds = 0, at_limit = 0, gflop = 0, gflop_done = 0, megabytes = 0;
};

struct RunLog {
  std::string directory;
  std::string name;  // the end of the directory's path that distinguishes it from other runs
  std::vector<TrainPoint> steps;
  std::vector<EvaluationPoint> evaluations;
  std::int64_t bad_samples = 0;
  std::vector<std::pair<std::string, std::string>> settings;  // of the newest checkpoint; empty if there is none
  std::vector<std::string> opening;                           // lines of the log before the first step
  std::vector<StepPartRow> parts;                             // of a run with --explain

  // Seconds from the first line to the last; pauses of a run that was continued count.
  double seconds() const;
  // The median of the lines' images per second; 0 without lines.
  double images_per_second() const;
};

// An Error for a directory that holds no metrics.jsonl, and for one whose lines cannot be read (which file, which
// line).
RunLog read_run_log(const std::string& directory);
// The same for several, with names that differ.
std::vector<RunLog> read_run_logs(const std::vector<std::string>& directories);

}  // namespace ridgeline::train
