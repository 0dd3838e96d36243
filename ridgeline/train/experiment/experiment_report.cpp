// The results of an experiment as tables: measured beside published, and the commands that reproduce them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/core/memory.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/core/version.h"
#include "ridgeline/device/devices.h"
#include "ridgeline/train/experiment/measured.h"
#include "ridgeline/train/experiment/relations.h"

namespace ridgeline::train {
namespace {

constexpr const char* kOneSeed =
    " With one seed, runs whose losses are not the same differ in accuracy by chance: --seeds=1,2,3 tells more.";

std::string number(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

std::string accuracy_difference(const Measured& base, const Measured& other) {
  const auto paired = paired_difference(base.top_1, other.top_1);
  return paired ? fmt::format("{} ({})", relation_of_accuracy(base, other), paired->to_text(2)) : "-";
}

std::string loss_difference(const Measured& base, const Measured& other) {
  const auto paired = paired_difference(base.loss, other.loss);
  return paired ? paired->to_text(3) : "-";
}

ReportTable commands(const ExperimentResult& result) {
  ReportTable table{.heading = "Commands", .note = "", .columns = {"command"}, .rows = {}};
  for (const auto& runs : result.runs)
    for (const ExperimentRun& run : runs)
      table.rows.push_back({printable(fmt::format("{}", fmt::join(run.command, " ")))});
  return table;
}

ReportTable environment() {
  return {.heading = "Environment",
          .note = "",
          .columns = {"what", "value"},
          .rows = {{"version", kVersion},
                   {"cores", std::to_string(available_cores())},
                   {"instruction set", device_named("cpu").make()->architecture()},
                   {"memory", byte_text(available_memory())}}};
}

}  // namespace

Report report_of(const ExperimentResult& result) {
  const Experiment& experiment = result.experiment;
  Report report;
  report.title = "Experiment " + experiment.name;
  std::vector<Measured> measured = measure(result);

  ReportTable table{
      .heading = "Measured",
      .note = experiment.what + ". Differences are to the first row, seed by seed: their mean ± its standard error." +
              (result.seeds.size() == 1 ? kOneSeed : ""),
      .columns = {"variant", "top-1 %", "against the first", "last loss", "loss against the first", "batch time, ms",
                  "time against the first", "whole run, s", "peak memory", "same losses"},
      .rows = {}};
  for (std::size_t v = 0; v < measured.size(); ++v) {
    const Measured& m = measured[v];
    if (!m.failure.empty()) {
      std::vector<std::string> row(table.columns.size(), "-");
      row[0] = experiment.variants[v].label;
      row[1] = "failed: " + m.failure;
      table.rows.push_back(std::move(row));
      continue;
    }
    std::vector<std::string> accuracies;
    for (double top_1 : m.top_1) accuracies.push_back(number(top_1, 2));
    const double time = mean(m.milliseconds), base = mean(measured[0].milliseconds);
    std::vector<std::string> row{experiment.variants[v].label,
                                 fmt::format("{}", fmt::join(accuracies, ", ")),
                                 v == 0 ? "" : accuracy_difference(measured[0], m),
                                 number(mean(m.loss), 3),
                                 v == 0 ? "" : loss_difference(measured[0], m),
                                 number(time, 1),
                                 v == 0 || !std::isfinite(time / base) ? "" : fmt::format("{:.2f}x", time / base),
                                 number(mean(m.seconds), 1),
                                 byte_text(m.peak_bytes)};
    row.push_back(v == 0 ? "" : same_numbers(measured[0], m) ? "yes" : "no");
    table.rows.push_back(std::move(row));
  }
  report.tables.push_back(std::move(table));
  if (!experiment.claims.empty()) report.tables.push_back(relations(experiment, measured));
  if (!experiment.published.rows.empty()) report.tables.push_back(experiment.published);
  report.tables.push_back(commands(result));
  report.tables.push_back(environment());
  for (Measured& m : measured)
    for (auto& log : m.logs)
      if (log) report.runs.push_back(std::move(*log));
  return report;
}

}  // namespace ridgeline::train
