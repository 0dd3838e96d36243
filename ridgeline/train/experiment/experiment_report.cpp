// What an experiment showed, as tables: measured beside published, and the commands that make it again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "ridgeline/core/memory.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/core/version.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/format/text/number_text.h"
#include "ridgeline/train/experiment/run_experiment.h"

namespace ridgeline::train {
namespace {

// The numbers of one variant, one a seed.
struct Measured {
  std::vector<double> top_1, loss, milliseconds;  // accuracy in percent, loss of the last line, time of a step
  std::int64_t peak_bytes = 0;
  std::string failure;
};

// Images a step divided by images a second, from the run's own settings.
double step_milliseconds(const RunLog& log) {
  const double rate = log.images_per_second();
  for (const auto& [name, value] : log.settings)
    if (name == "batch_size" && rate > 0) return 1e3 * parse_f64(value).value_or(std::nan("")) / rate;
  return std::nan("");
}

double mean(const std::vector<double>& values) {
  return values.empty() ? std::nan("")
                        : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string number(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

// Mean and standard error of the differences seed by seed; the error of one seed is 0. Nothing where a value is
// missing.
struct PairedDifference {
  double mean = 0, error = 0;
  std::size_t seeds = 0;
  std::string to_text(int digits) const {
    return seeds > 1 ? fmt::format("{:+.{}f} ± {:.{}f}", mean, digits, error, digits)
                     : fmt::format("{:+.{}f}", mean, digits);
  }
};

std::optional<PairedDifference> paired_difference(const std::vector<double>& base, const std::vector<double>& other) {
  if (base.size() != other.size() || base.empty()) return std::nullopt;
  std::vector<double> differences;
  for (std::size_t i = 0; i < base.size(); ++i) differences.push_back(other[i] - base[i]);
  PairedDifference paired{.mean = mean(differences), .seeds = differences.size()};
  if (!std::isfinite(paired.mean)) return std::nullopt;
  if (paired.seeds > 1) {
    for (double d : differences) paired.error += (d - paired.mean) * (d - paired.mean);
    const auto n = static_cast<double>(paired.seeds);
    paired.error = std::sqrt(paired.error / (n - 1) / n);
  }
  return paired;
}

// Of accuracies: within 0.5 points and two standard errors they are equal.
std::string relation(const std::vector<double>& base, const std::vector<double>& other) {
  const std::optional<PairedDifference> paired = paired_difference(base, other);
  if (!paired) return "-";
  const char* sign = std::abs(paired->mean) <= 0.5 + 2 * paired->error ? "=" : paired->mean < 0 ? "<" : ">";
  return fmt::format("{} ({})", sign, paired->to_text(2));
}

std::string loss_difference(const std::vector<double>& base, const std::vector<double>& other) {
  const std::optional<PairedDifference> paired = paired_difference(base, other);
  return paired ? paired->to_text(3) : "-";
}

bool same_numbers(const RunLog& a, const RunLog& b) {
  const auto by_step = [](const RunLog& log) {
    std::vector<std::pair<std::int64_t, double>> list;
    for (const TrainPoint& p : log.steps) list.emplace_back(p.step, p.loss);
    return list;
  };
  // Loops of other lengths write other lines: the steps that both have count.
  const auto left = by_step(a), right = by_step(b);
  std::size_t shared = 0;
  for (const auto& [step, loss] : left) {
    const auto it = std::find_if(right.begin(), right.end(), [s = step](const auto& p) { return p.first == s; });
    if (it == right.end()) continue;
    ++shared;
    if (it->second != loss) return false;
  }
  for (std::size_t i = 0; i < std::min(a.evaluations.size(), b.evaluations.size()); ++i)
    if (a.evaluations[i].top_1 != b.evaluations[i].top_1 || a.evaluations[i].loss != b.evaluations[i].loss)
      return false;
  return shared > 0;
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
                   {"instruction set", std::string(device::name_of(device::active_isa()))},
                   {"memory", byte_text(available_memory())}}};
}

}  // namespace

Report report_of(const ExperimentResult& result) {
  const Experiment& experiment = result.experiment;
  Report report;
  report.title = "Experiment " + experiment.name;
  std::vector<Measured> measured(experiment.variants.size());
  std::vector<std::vector<std::optional<RunLog>>> logs(experiment.variants.size());
  for (std::size_t v = 0; v < result.runs.size(); ++v) {
    for (std::size_t s = 0; s < result.runs[v].size(); ++s) {
      const ExperimentRun& run = result.runs[v][s];
      logs[v].emplace_back();
      if (!run.failure.empty()) {
        measured[v].failure = run.failure;
        continue;
      }
      RunLog log = read_run_log(run.directory);
      log.name = printable(experiment.variants[v].label) +
                 (result.seeds.size() > 1 ? fmt::format(" (seed {})", result.seeds[s]) : std::string());
      measured[v].top_1.push_back(log.evaluations.empty() ? std::nan("") : log.evaluations.back().top_1);
      measured[v].loss.push_back(log.steps.empty() ? std::nan("") : log.steps.back().loss);
      measured[v].milliseconds.push_back(step_milliseconds(log));
      measured[v].peak_bytes = std::max(measured[v].peak_bytes, run.peak_bytes);
      logs[v].back() = std::move(log);
    }
  }

  ReportTable table{
      .heading = "Measured",
      .note = experiment.what + ". Differences are to the first row, seed by seed: their mean ± its standard error.",
      .columns = {"variant", "top-1 %", "against the first", "last loss", "loss against the first", "batch time, ms",
                  "time against the first", "peak memory", "same losses"},
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
                                 v == 0 ? "" : relation(measured[0].top_1, m.top_1),
                                 number(mean(m.loss), 3),
                                 v == 0 ? "" : loss_difference(measured[0].loss, m.loss),
                                 number(time, 1),
                                 v == 0 || !std::isfinite(time / base) ? "" : fmt::format("{:.2f}x", time / base),
                                 byte_text(m.peak_bytes)};
    bool same = true;
    for (std::size_t i = 0; i < logs[v].size(); ++i)
      same = same && logs[v][i] && logs[0][i] && same_numbers(*logs[0][i], *logs[v][i]);
    row.push_back(v == 0 ? "" : same ? "yes" : "no");
    table.rows.push_back(std::move(row));
  }
  report.tables.push_back(std::move(table));
  if (!experiment.published.rows.empty()) report.tables.push_back(experiment.published);
  report.tables.push_back(commands(result));
  report.tables.push_back(environment());
  for (auto& of_variant : logs)
    for (auto& log : of_variant)
      if (log) report.runs.push_back(std::move(*log));
  return report;
}

}  // namespace ridgeline::train
