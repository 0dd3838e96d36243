// ridgeline/train/experiment/experiment.h
//
// An experiment varies one thing between trainings that are otherwise equal, and compares the results. The table holds
// those of the document that the recipe comes from; a sweep over flags of `train` is another.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ridgeline/train/report/report.h"

namespace ridgeline::train {

struct Variant {
  std::string label;
  std::vector<std::string> flags;  // of `train`, as on the command line: "--fusion=False"
};

// A claim of the document about two variants.
struct Claim {
  enum class Quantity { accuracy, loss, time };
  Quantity quantity = Quantity::time;
  std::string of;       // label of a variant
  char relation = '=';  // to that of `against`: '=', '<' or '>'
  std::string against;
  std::string document;        // the document's figures
  std::string otherwise = {};  // why it may not be true here, if that was investigated
};

struct Experiment {
  std::string name;               // as on the command line
  std::string what;               // one line
  std::vector<Variant> variants;  // the others are compared with the first
  ReportTable published;          // the document's own table; empty if it has none
  std::vector<Claim> claims = {};
  int seeds = 1;  // by default: one accuracy says little if bits differ
};

std::span<const Experiment> experiments();
// An Error names the nearest one.
const Experiment& experiment_named(const std::string& name);

// With only the variants of these labels, in the experiment's order. An Error for a label that it does not have.
Experiment only(Experiment experiment, const std::vector<std::string>& labels);

// An Error for a flag of `train` ("--seed", "--seed=7") that the experiment itself gives to every run: the user's would
// have no effect.
void refuse_reserved(const std::string& flag);

// One variant for each combination of values: "lr=0.01,0.03" and "momentum=0.9,0.8" make four. An Error for a text that
// names no flag or no value, for a flag that is given twice, and for a reserved one.
Experiment sweep(const std::vector<std::string>& flags);

}  // namespace ridgeline::train
