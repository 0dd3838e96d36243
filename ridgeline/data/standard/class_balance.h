// ridgeline/data/standard/class_balance.h
//
// How many images each class has, and what makes up for it where that differs. Functions only.
#pragma once

#include <cstdint>
#include <vector>

#include "ridgeline/data/api/dataset.h"

namespace ridgeline::data {

// The labels of all records of the one source of `source`, in its order. One that cannot be read is an Error, or -1
// unless `raise`. Sources of records read each of them once.
std::vector<std::int64_t> labels_of(const Dataset& source, bool raise, int workers = 0);

struct ClassBalance {
  std::vector<std::int64_t> counts;  // by label
  std::int64_t rows = 0;             // that have a label
  std::int64_t classes = 0;          // that have a row
  std::int64_t rarest = 0, commonest = 0;
  // rows / (classes * rows of that class): 1 over all rows in the mean. 1 for a class without rows.
  double weight(std::int64_t label) const;
};
// Labels below 0, and from `classes` on, are passed over. An Error where none is left.
ClassBalance class_balance(const std::vector<std::int64_t>& labels, std::int64_t classes);

}  // namespace ridgeline::data
