// tests/compile/random_check.h
//
// A random step compiled and run in one of many ways, against the references.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ridgeline/compile/compile.h"
#include "tests/compile/random_graph.h"
#include "tests/compile/shrink.h"

namespace ridgeline::testing {

// A result of the references, and how far a right program may be from it: 16 times the distance that arithmetic in f32
// itself has from f64 there. That is the largest of the distances between the references in f32 and in f64, and between
// f64 and f64 that is off: every argument by 2^-22 of its size and the result of every op by 2^-24, each up or down by
// chance, in three draws (which is what sums in another order come to, also of what cancels: the references themselves
// add in f64); and all arguments up by 2^-22 (the errors of a long sum of terms of one sign do not cancel).
struct Expectation {
  Tensor value;
  double tolerance = 0;  // of every element; 0: to the bit
};

// What the references make of two rounds of forward and train.
struct Expected {
  struct Round {
    std::vector<Expectation> forward_returns, train_returns;
    std::map<std::string, Expectation> after;  // the arguments, updated
  };
  std::vector<Round> rounds;
};
Expected reference_of(const RandomStep& step);

struct Setting {
  std::string device = "cpu";  // or "list": kernels with forms of their own and results in other layouts
  int threads = 0;
  int lanes = 1;               // launches side by side; of the cpu
  bool misses_ops = false;     // the simulated device has no max_pool and no dense
  bool refuses_loops = false;  // the listed device has no kernel for loops but the reference
  CompileOptions options;
  bool forward_first = false;  // which of the two programs is compiled first
  int memory_percent = 0;      // of what the plan takes without a limit: asked for where that can be met; 0: no limit
};
std::string to_string(const Setting& setting);
// Steps of exact values want kernels that keep them so.
SessionOptions session_options_of(const Setting& setting, bool exact);

// Where the options ask for narrow types, the references run what the pass `precision` has made, and only what they
// hold exactly is compared: elsewhere a rounding may go the other way.
//
// Both rounds compiled, two programs over one store: the store and every returned value after each. "" where all agree
// with the references, else the first difference. A step of exact values gets kernels of high precision only:
// transforms (Winograd) round, and a floor behind them would jump.
std::string difference(const RandomStep& step, const Expected& expected, const Setting& setting);
// The same of one graph that is run once. An error in compilation is a difference, too.
std::string difference(const GraphCase& found, bool exact, const Setting& setting);

}  // namespace ridgeline::testing
