// ridgeline/data/api/filter.h
//
// Tests of one column, for Dataset::filter. The column should be cheap to compute: the test runs before the row is
// made.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/ir/functions.h"
#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct Filter {
  std::string column, test;
  std::vector<double> values = {};
  std::vector<std::string> texts = {};
  std::string function = {};
};

// `test`: equal, not_equal, less, less_equal, greater, greater_equal.
Filter compare(std::string column, std::string test, double value);
Filter is_in(std::string column, std::vector<double> values);
Filter is_in(std::string column, std::vector<std::string> texts);
Filter is_not_in(std::string column, std::vector<double> values);
// A user function, by the name given to register_predicate.
Filter passes(std::string column, std::string function);

}  // namespace ridgeline::data
