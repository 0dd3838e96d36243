// tests/compile/random_check.h
//
// Compiles and runs a random step in one of many ways and compares it with the references.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ridgeline/compile/compile.h"
#include "tests/compile/random_graph.h"
#include "tests/compile/shrink.h"

namespace ridgeline::testing {

// A result of the references, and its tolerance: 16 times the error of f32 arithmetic compared with f64 at this point.
// That error is the largest distance between the references in f32 and f64, and between f64 and disturbed f64: every
// argument changed by 2^-22 and every op result by 2^-24 of its size, with random signs, in three draws (the effect of
// other summation orders, also for sums that cancel; the references themselves sum in f64); and all arguments increased
// by 2^-22 (errors of a long sum of terms of one sign do not cancel).
struct Expectation {
  Tensor value;
  double tolerance = 0;  // per element; 0: exact
};

// The results of the references for two rounds of forward and train.
struct Expected {
  struct Round {
    std::vector<Expectation> forward_returns, train_returns;
    std::map<std::string, Expectation> after;  // the arguments, updated
  };
  std::vector<Round> rounds;
};
Expected reference_of(const RandomStep& step);

struct Setting {
  std::string device = "cpu";  // or "list": kernels with their own forms and other layouts of results
  int threads = 0;
  int lanes = 1;               // launches at the same time; cpu only
  bool misses_ops = false;     // the simulated device has no max_pool and no dense
  bool refuses_loops = false;  // the listed device has only the reference kernel for loops
  CompileOptions options;
  bool forward_first = false;  // which of the two programs is compiled first
  int memory_percent = 0;      // relative to the plan without a limit; used if possible; 0: no limit
};
std::string to_string(const Setting& setting);
// Steps with exact values need kernels that keep them exact.
SessionOptions session_options_of(const Setting& setting, bool exact);

// If the options narrow types, the references run the graph after the pass `precision`, and only exactly represented
// values are compared, since others may be rounded differently.
//
// Compiles and runs both rounds, two programs with one store, and compares the store and every returned value after
// each. Returns "" if all agree with the references, else the first difference. A step with exact values gets only
// high-precision kernels: transforms (Winograd) round, and a floor after them would jump.
std::string difference(const RandomStep& step, const Expected& expected, const Setting& setting);
// The same for one graph that runs once. An error in compilation also counts as a difference.
std::string difference(const GraphCase& found, bool exact, const Setting& setting);

}  // namespace ridgeline::testing
