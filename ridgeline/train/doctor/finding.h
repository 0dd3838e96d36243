// ridgeline/train/doctor/finding.h
//
// The doctor's findings about a training set-up: sentences with a level, check by check, as text and as JSON. Plain
// values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::train {

enum class FindingLevel {
  note,     // worth knowing; a sound set-up may have it
  suspect,  // unusual: look at it first if the accuracy is low
  wrong,    // it costs accuracy
};
std::string_view name_of(FindingLevel level);

struct Finding {
  FindingLevel level = FindingLevel::note;
  std::string what;    // with the observed numbers
  std::string advice;  // what to try; may be empty for notes
};

// One check and what it found; `left_out` is the reason why it could not be made.
struct CheckResult {
  std::string check;
  std::vector<Finding> findings;
  std::string left_out;
  double seconds = 0;
};

// One trained parameter at the start of the run.
struct ParameterRow {
  std::string name;
  double weight = 0, gradient = 0;  // root mean squares
  double step = 0;                  // change in one step at the full rate, as a share of `weight`
};

struct Diagnosis {
  std::vector<CheckResult> checks;
  std::vector<ParameterRow> parameters;

  bool sound() const;  // true if nothing is wrong
  // The name of the first check that found something wrong; empty: none.
  std::string first_wrong() const;
  // A line for each check and finding, one more for its advice, and a summary at the end.
  std::string to_text() const;
  std::string to_json() const;
};

}  // namespace ridgeline::train
