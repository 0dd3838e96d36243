// bindings/shared/statistics.h
//
// The statistics of a run as names and values, the same list for all languages.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ridgeline/data/runtime/stats.h"

namespace ridgeline::bindings {

struct Statistic {
  const char* name;
  std::variant<std::int64_t, double, std::string> value;
};
using Statistics = std::vector<Statistic>;

Statistics statistics_of(const data::StageStats& stage);
// All except those of the stages.
Statistics statistics_of(const data::RunStats& stats);

}  // namespace ridgeline::bindings
