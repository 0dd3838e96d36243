// ridgeline/train/experiment/run_experiment.h
//
// Runs the variants of an experiment, each for every seed, one after the other, each in a process of its own: so memory
// is measured by run, and one that fails takes no other with it. A run that is there already, made by the same command,
// is not made again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/core/given_function.h"
#include "ridgeline/train/experiment/experiment.h"
#include "ridgeline/train/report/report.h"

namespace ridgeline::train {

struct ExperimentOptions {
  std::vector<std::string> program;        // what starts `ridgeline`, in front of a command
  std::string out;                         // folder of the runs and the report
  std::vector<std::uint64_t> seeds = {1};  // variants are compared seed by seed
  std::vector<std::string> flags;          // of `train`, for all variants; a variant's own come behind them
  bool keep_checkpoints = false;           // else a finished run keeps their information only
  OptionalFunction<void(const std::string&)> say;
};

struct ExperimentRun {
  std::vector<std::string> command;
  std::string directory;        // its --log_dir
  std::string failure;          // the last line of its output, where it failed
  std::int64_t peak_bytes = 0;  // largest resident size of its process
  double seconds = 0;           // that it took, from start to end
};

struct ExperimentResult {
  Experiment experiment;
  std::vector<std::uint64_t> seeds;
  std::vector<std::vector<ExperimentRun>> runs;  // [variant][seed]
};

// An Error (usage) for a seed that is given twice, for flags that are reserved (experiment.h), and for two variants
// whose labels would name one folder.
void check(const Experiment& experiment, const ExperimentOptions& options);

// Interrupted: the run under way ends as `train` does, and an Error of kind interrupted tells that the others are open.
// An Error where the first run of all is refused as a wrong call: the others would be, too. Checks first.
ExperimentResult run_experiment(const Experiment& experiment, const ExperimentOptions& options);

// Measured table, whether the document's relations hold (relations.h), the document's table, curves of all runs, exact
// commands, machine. A difference of accuracy is "=" where its mean over the seeds is within 0.5 points and two
// standard errors, else "<" or ">".
Report report_of(const ExperimentResult& result);

}  // namespace ridgeline::train
