// ridgeline/train/experiment/run_experiment.h
//
// Runs the variants of an experiment, each for every seed, one after the other, each in its own process: so memory is
// measured for each run, and a failure does not affect the others. A run that already exists, made by the same command,
// is not repeated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/core/given_function.h"
#include "ridgeline/train/experiment/experiment.h"
#include "ridgeline/train/report/report.h"

namespace ridgeline::train {

struct ExperimentOptions {
  std::vector<std::string> program;        // the words that start `ridgeline`, before a command
  std::string out;                         // folder of the runs and the report
  std::vector<std::uint64_t> seeds = {1};  // variants are compared seed by seed
  std::vector<std::string> flags;          // of `train`, for all variants; a variant's own come after them
  bool keep_checkpoints = false;           // else a finished run keeps only their information
  OptionalFunction<void(const std::string&)> say;
};

struct ExperimentRun {
  std::vector<std::string> command;
  std::string directory;        // its --log_dir
  std::string failure;          // the last line of its output, if it failed
  std::int64_t peak_bytes = 0;  // largest resident size of its process
  double seconds = 0;           // duration from start to end
};

struct ExperimentResult {
  Experiment experiment;
  std::vector<std::uint64_t> seeds;
  std::vector<std::vector<ExperimentRun>> runs;  // [variant][seed]
};

// An Error (usage) for a seed that is given twice, for flags that are reserved (experiment.h), and for two variants
// whose labels would give the same folder.
void check(const Experiment& experiment, const ExperimentOptions& options);

// If interrupted, the current run ends as `train` does, and an Error of kind interrupted says that the others are not
// done. An Error if the very first run is refused as a wrong call, since the others would be, too. Calls check() first.
ExperimentResult run_experiment(const Experiment& experiment, const ExperimentOptions& options);

// Measured table, whether the document's relations hold (relations.h), the document's table, curves of all runs, exact
// commands, machine. A difference of accuracy is "=" where its mean over the seeds is within 0.5 points and two
// standard errors, else "<" or ">".
Report report_of(const ExperimentResult& result);

}  // namespace ridgeline::train
