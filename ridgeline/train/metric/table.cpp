#include "ridgeline/train/metric/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "ridgeline/core/error.h"
#include "ridgeline/train/metric/accuracy.h"
#include "ridgeline/train/metric/confusion_matrix.h"
#include "ridgeline/train/metric/loss.h"

namespace ridgeline::train {
namespace {

constexpr std::size_t kAllShown = 20, kShown = 10;

constexpr MetricEntry kMetrics[] = {
    {"accuracy", "share of rows whose largest logit is the label's",
     [](std::int64_t) -> std::unique_ptr<Metric> { return std::make_unique<Accuracy>(); }},
    {"top_1_accuracy", "the same, where ties count as hits",
     [](std::int64_t) -> std::unique_ptr<Metric> { return std::make_unique<TopK>(1); }},
    {"top_5_accuracy", "share of rows whose label is among the five largest",
     [](std::int64_t) -> std::unique_ptr<Metric> { return std::make_unique<TopK>(5); }},
    {"loss", "mean loss, without the penalty",
     [](std::int64_t) -> std::unique_ptr<Metric> { return std::make_unique<Loss>(); }},
    {"precision", "of what is taken for a class, the share that is of it",
     [](std::int64_t classes) -> std::unique_ptr<Metric> { return std::make_unique<Precision>(classes); }},
    {"recall", "of a class, the share that is taken for it",
     [](std::int64_t classes) -> std::unique_ptr<Metric> { return std::make_unique<Recall>(classes); }},
    {"confusion_matrix", "how often each class is taken for which",
     [](std::int64_t classes) -> std::unique_ptr<Metric> { return std::make_unique<ConfusionMatrix>(classes); }},
};

const MetricEntry& metric_named(const std::string& name) {
  std::vector<std::string> names;
  for (const MetricEntry& entry : kMetrics) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
  }
  throw Error(
      fmt::format("unknown metric '{}'{} (allowed: {})", name, did_you_mean(name, names), fmt::join(names, ", ")),
      ErrorKind::usage);
}

std::string class_text(std::int64_t label, const std::vector<std::string>& names) {
  const auto at = static_cast<std::size_t>(label);
  return at < names.size() && !names[at].empty() ? names[at] : std::to_string(label);
}

std::string class_line(const std::string& name, const Tensor& value, const std::vector<std::string>& names) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(value.elements()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const bool all = order.size() <= kAllShown;
  double sum = 0;
  for (const std::int64_t c : order) sum += value.at(c);
  if (!all) {
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return value.at(a) < value.at(b); });
    order.resize(kShown);
  }
  std::vector<std::string> parts;
  for (const std::int64_t c : order) parts.push_back(fmt::format("{} {:.4f}", class_text(c, names), value.at(c)));
  return fmt::format("{}: mean {:.4f}; {}{}", name, sum / static_cast<double>(value.elements()),
                     all ? "" : "lowest: ", fmt::join(parts, ", "));
}

std::vector<std::string> matrix_lines(const std::string& name, const Tensor& value,
                                      const std::vector<std::string>& names) {
  const std::int64_t rows = value.shape()[0], columns = value.shape()[1];
  std::vector<std::string> lines;
  if (static_cast<std::size_t>(rows) <= kAllShown) {
    for (std::int64_t r = 0; r < rows; ++r) {
      std::vector<std::string> cells;
      for (std::int64_t c = 0; c < columns; ++c) cells.push_back(fmt::format("{:>6}", value.at(r * columns + c)));
      lines.push_back(fmt::format("{} of {}: {}", name, class_text(r, names), fmt::join(cells, " ")));
    }
    return lines;
  }
  std::vector<std::int64_t> wrong;
  for (std::int64_t i = 0; i < rows * columns; ++i)
    if (i / columns != i % columns && value.at(i) > 0) wrong.push_back(i);
  std::stable_sort(wrong.begin(), wrong.end(), [&](auto a, auto b) { return value.at(a) > value.at(b); });
  wrong.resize(std::min(wrong.size(), kShown));
  for (const std::int64_t i : wrong) {
    lines.push_back(fmt::format("{}: {} of {} are taken for {}", name, value.at(i), class_text(i / columns, names),
                                class_text(i % columns, names)));
  }
  return lines;
}

}  // namespace

std::span<const MetricEntry> metric_table() { return kMetrics; }

std::vector<NamedMetric> metrics_named(const std::vector<std::string>& names, std::int64_t classes) {
  std::vector<NamedMetric> metrics;
  for (const std::string& name : names) metrics.push_back({name, metric_named(name).make(classes)});
  return metrics;
}

void check_metric_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) metric_named(name);
}

std::vector<std::string> metric_lines(const std::string& name, const Tensor& value,
                                      const std::vector<std::string>& class_names) {
  switch (value.shape().rank()) {
    case 0: return {fmt::format("{}: {:.4f}", name, value.at(0))};
    case 1: return {class_line(name, value, class_names)};
    default: return matrix_lines(name, value, class_names);
  }
}

}  // namespace ridgeline::train
