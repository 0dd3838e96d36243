// ridgeline/train/experiment/measured.h
//
// The results of an experiment's runs, by variant and seed, and how two variants compare. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/train/experiment/run_experiment.h"
#include "ridgeline/train/report/run_log.h"

namespace ridgeline::train {

// The numbers of one variant, one for each seed; NaN if a run has none.
struct Measured {
  std::vector<double> top_1, loss;   // accuracy in percent, loss of the last line
  std::vector<double> milliseconds;  // the median of the log lines' times of a step
  std::vector<double> time_error;    // standard error of that, from how the lines differ
  std::vector<double> seconds;       // of the whole process
  std::vector<std::optional<RunLog>> logs;
  std::int64_t peak_bytes = 0;
  std::string failure;
};
// Reads the logs; one entry for each variant.
std::vector<Measured> measure(const ExperimentResult& result);

double mean(const std::vector<double>& values);

// Mean and standard error of the differences seed by seed; the error of one seed is 0.
struct PairedDifference {
  double mean = 0, error = 0;
  std::size_t seeds = 0;
  std::string to_text(int digits) const;  // "+0.25 ± 0.10"
};
// nullopt if a value is missing.
std::optional<PairedDifference> paired_difference(const std::vector<double>& base, const std::vector<double>& other);

// '=', '<' or '>', or '?' if something is missing.
// Of accuracies: within 0.5 points and two standard errors they are equal.
char relation_of_accuracy(const Measured& base, const Measured& other);
// Of times of a step: equal within a twentieth and two standard errors, over the seeds or, for one seed, over its
// lines.
char relation_of_time(const Measured& base, const Measured& other);
// Of last losses: equal to the bit, or within a hundredth and two standard errors.
char relation_of_loss(const Measured& base, const Measured& other);

// Whether all losses and evaluations that both have are the same to the bit, for every seed.
bool same_numbers(const Measured& base, const Measured& other);

}  // namespace ridgeline::train
