// ridgeline/data/standard/class_balance.h
//
// How many images each class has, and weights that compensate for differences. Functions only.
#pragma once

#include <cstdint>
#include <vector>

#include "ridgeline/data/api/dataset.h"

namespace ridgeline::data {

// The labels of all records of the only source in `source`, in order. A label that cannot be read is an Error if
// `raise`, else -1. Sources of record files read each record once.
std::vector<std::int64_t> labels_of(const Dataset& source, bool raise, int workers = 0);

struct ClassBalance {
  std::vector<std::int64_t> counts;  // by label
  std::int64_t rows = 0;             // that have a label
  std::int64_t classes = 0;          // that have a row
  std::int64_t rarest = 0, commonest = 0;
  // rows / (classes * rows of that class): 1 on average over all rows. 1 for a class without rows.
  double weight(std::int64_t label) const;
};
// Labels below 0, and from `classes` on, are skipped. An Error if none is left.
ClassBalance class_balance(const std::vector<std::int64_t>& labels, std::int64_t classes);

}  // namespace ridgeline::data
