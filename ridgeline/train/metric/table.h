// ridgeline/train/metric/table.h
//
// The metrics by MindSpore's names, and their values as text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/train/metric/metric.h"

namespace ridgeline::train {

struct MetricEntry {
  std::string_view name;
  std::string_view what;
  std::unique_ptr<Metric> (*make)(std::int64_t classes);
};
std::span<const MetricEntry> metric_table();

struct NamedMetric {
  std::string name;
  std::unique_ptr<Metric> metric;
};
// An unknown name is an Error (usage) that lists all of them.
std::vector<NamedMetric> metrics_named(const std::vector<std::string>& names, std::int64_t classes);
void check_metric_names(const std::vector<std::string>& names);

// "recall: mean 0.9312; circle 0.9500, square 0.9124": one line for numbers and for classes, one line per row for
// matrices. With more than 20 classes only the ten lowest, and of a matrix the ten largest off its diagonal.
std::vector<std::string> metric_lines(const std::string& name, const Tensor& value,
                                      const std::vector<std::string>& class_names);

}  // namespace ridgeline::train
