// ridgeline/train/experiment/experiment.h
//
// An experiment varies one thing between trainings that are otherwise equal, and compares what they show. The table
// holds those of the document that the recipe comes from; a sweep over any flag of `train` is one more.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ridgeline/train/report/report.h"

namespace ridgeline::train {

struct Variant {
  std::string label;
  std::vector<std::string> flags;  // of `train`, as they are written: "--fusion=False"
};

// What the document says of two variants.
struct Claim {
  enum class Quantity { accuracy, loss, time };
  Quantity quantity = Quantity::time;
  std::string of;       // label of a variant
  char relation = '=';  // to that of `against`: '=', '<' or '>'
  std::string against;
  std::string document;        // its figures
  std::string otherwise = {};  // why it may not hold here, where that was looked into
};

struct Experiment {
  std::string name;               // a word of the command line
  std::string what;               // one line
  std::vector<Variant> variants;  // the others are compared with the first
  ReportTable published;          // the document's own table; empty for what it does not have
  std::vector<Claim> claims = {};
  int seeds = 1;  // as many unless the user says otherwise: one accuracy says little where bits differ
};

std::span<const Experiment> experiments();
// An Error names the nearest one.
const Experiment& experiment_named(const std::string& name);

// With the variants of these labels alone, in the experiment's order. An Error for a label that it does not have.
Experiment only(Experiment experiment, const std::vector<std::string>& labels);

// An Error for a flag of `train` ("--seed", "--seed=7") that the experiment itself gives to every run: it would not be
// heard.
void refuse_reserved(const std::string& flag);

// One variant for each combination of values: "lr=0.01,0.03" and "momentum=0.9,0.8" make four. An Error for a text that
// names no flag or no value, for a flag that is given twice, and for one that is reserved.
Experiment sweep(const std::vector<std::string>& flags);

}  // namespace ridgeline::train
