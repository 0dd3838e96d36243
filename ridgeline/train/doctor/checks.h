// ridgeline/train/doctor/checks.h
//
// The checks of a training set-up, causes before symptoms: one file each, check_<subject>.cpp, one row each in the
// table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/core/given_function.h"
#include "ridgeline/train/doctor/examination.h"
#include "ridgeline/train/doctor/finding.h"

namespace ridgeline::train {

// Collects what a check finds.
class Findings {
 public:
  Findings(CheckResult& result, Diagnosis& diagnosis) : result_(result), diagnosis_(diagnosis) {}
  void note(std::string what, std::string advice = "") { add(FindingLevel::note, std::move(what), std::move(advice)); }
  void suspect(std::string what, std::string advice) { add(FindingLevel::suspect, std::move(what), std::move(advice)); }
  void wrong(std::string what, std::string advice) { add(FindingLevel::wrong, std::move(what), std::move(advice)); }
  void leave_out(std::string why) { result_.left_out = std::move(why); }
  std::vector<ParameterRow>& parameters() { return diagnosis_.parameters; }

 private:
  void add(FindingLevel level, std::string what, std::string advice) {
    result_.findings.push_back({level, std::move(what), std::move(advice)});
  }
  CheckResult& result_;
  Diagnosis& diagnosis_;
};

struct Check {
  std::string_view name;
  std::string_view what;  // what it examines
  void (*run)(Examination&, Findings&);
  bool symptom = false;  // trains, and shows nothing new once a cause was found; then it is left out
};
std::span<const Check> checks();

struct DiagnosisOptions {
  std::vector<std::string> only;                   // checks by name; empty: all. An unknown one is an Error (usage)
  bool symptoms = false;                           // also if a cause was found
  OptionalFunction<void(const std::string&)> say;  // before each check
};

// An Error of a check becomes its finding: what the doctor cannot run, training cannot run either.
Diagnosis examine(const Subject& subject, const DiagnosisOptions& options = {});

// One row each in the table of checks.cpp.
void check_files(Examination& examination, Findings& findings);
void check_duplicates(Examination& examination, Findings& findings);
void check_geometry(Examination& examination, Findings& findings);
void check_pixels(Examination& examination, Findings& findings);
void check_labels(Examination& examination, Findings& findings);
void check_channels(Examination& examination, Findings& findings);
void check_frozen(Examination& examination, Findings& findings);
void check_head(Examination& examination, Findings& findings);
void check_units(Examination& examination, Findings& findings);
void check_gradients(Examination& examination, Findings& findings);
void check_precision(Examination& examination, Findings& findings);
void check_loss(Examination& examination, Findings& findings);
void check_rate(Examination& examination, Findings& findings);

}  // namespace ridgeline::train
