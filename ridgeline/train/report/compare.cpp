#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ridgeline/train/report/report.h"

namespace ridgeline::train {
namespace {

// A dash for what a run does not have.
constexpr const char* kNone = "-";

std::string number(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits)
         : std::isnan(value)  ? kNone
                              : fmt::format("{}", value);
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

struct Summary {
  double last_top_1 = NAN, best_top_1 = NAN, last_top_5 = NAN, loss = NAN, rate = NAN, epoch = NAN;
  std::int64_t step = 0;
};

Summary summary_of(const RunLog& run) {
  Summary s;
  for (const EvaluationPoint& e : run.evaluations) {
    s.last_top_1 = e.top_1;
    s.last_top_5 = e.top_5;
    if (!(s.best_top_1 >= e.top_1)) s.best_top_1 = e.top_1;
  }
  if (!run.steps.empty()) {
    s.loss = run.steps.back().loss;
    s.step = run.steps.back().step;
    s.epoch = run.steps.back().epoch;
    s.rate = run.images_per_second();
  }
  return s;
}

// "+1.20" against the first run's number; nothing for the first run itself.
std::string difference(double value, double base, bool first) {
  return first || !std::isfinite(value - base) ? "" : fmt::format(" ({:+.2f})", value - base);
}

std::string factor(double value, double base, bool first) {
  return first || !(base > 0) || !std::isfinite(value / base) ? "" : fmt::format(" ({:.2f}x)", value / base);
}

ReportTable results(const std::vector<RunLog>& runs) {
  ReportTable table{.heading = "Results",
                    .note = runs.size() > 1 ? "In brackets: against " + runs.front().name + "." : "",
                    .columns = {"run", "steps", "epochs", "top-1 %", "best top-1 %", "top-5 %", "last loss", "images/s",
                                "time", "bad samples"}};
  const Summary base = runs.empty() ? Summary{} : summary_of(runs.front());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Summary s = summary_of(runs[i]);
    table.rows.push_back({runs[i].name, s.step > 0 ? std::to_string(s.step) : kNone, number(s.epoch, 1),
                          number(s.last_top_1, 2) + difference(s.last_top_1, base.last_top_1, i == 0),
                          number(s.best_top_1, 2) + difference(s.best_top_1, base.best_top_1, i == 0),
                          number(s.last_top_5, 2), number(s.loss, 3),
                          number(s.rate, 1) + factor(s.rate, base.rate, i == 0), duration(runs[i].seconds()),
                          std::to_string(runs[i].bad_samples)});
  }
  return table;
}

// Settings by name in the order of the first run that has them.
struct Settings {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> values;  // a value a run
};

Settings settings_of(const std::vector<RunLog>& runs) {
  Settings all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& [name, value] : runs[i].settings) {
      const auto [it, made] = all.values.try_emplace(name, runs.size(), kNone);
      if (made) all.names.push_back(name);
      it->second[i] = value;
    }
  }
  return all;
}

ReportTable step_times(const RunLog& run) {
  ReportTable table{.heading = "Where the last step's time went: " + run.name,
                    .note =
                        "Milliseconds of the launches of each kind of op, beside those that the machine's limits "
                        "allow; the largest difference first.",
                    .columns = {"op", "launches", "ms", "ms at the limit", "share of the limit", "GFLOP done",
                                "GFLOP by the formula", "MB"},
                    .rows = {}};
  for (const StepPartRow& part : run.parts) {
    table.rows.push_back({part.op, std::to_string(part.launches), number(part.milliseconds, 2),
                          number(part.at_limit, 2), number(part.at_limit / part.milliseconds, 2),
                          number(part.gflop_done, 2), number(part.gflop, 2), number(part.megabytes, 1)});
  }
  return table;
}

}  // namespace

Report compare_runs(std::vector<RunLog> runs) {
  Report report;
  report.title = runs.size() == 1 ? "Run " + runs.front().name : fmt::format("{} runs compared", runs.size());
  report.tables.push_back(results(runs));

  ReportTable different{.heading = "Settings that differ", .columns = {"setting"}};
  ReportTable shared{.heading = runs.size() == 1 ? "Settings" : "Settings that all share",
                     .columns = {"setting", "value"}};
  for (const RunLog& run : runs) different.columns.push_back(run.name);
  const Settings all = settings_of(runs);
  for (const std::string& name : all.names) {
    const std::vector<std::string>& values = all.values.at(name);
    if (std::all_of(values.begin(), values.end(), [&](const std::string& v) { return v == values.front(); })) {
      shared.rows.push_back({name, values.front()});
    } else {
      different.rows.push_back({name});
      different.rows.back().insert(different.rows.back().end(), values.begin(), values.end());
    }
  }
  if (!different.rows.empty()) report.tables.push_back(std::move(different));
  if (!shared.rows.empty()) report.tables.push_back(std::move(shared));

  for (const RunLog& run : runs) {
    if (!run.parts.empty()) report.tables.push_back(step_times(run));
  }

  ReportTable logs{.heading = "What the logs say first", .columns = {"run", "line"}};
  for (const RunLog& run : runs)
    for (const std::string& line : run.opening) logs.rows.push_back({run.name, line});
  if (!logs.rows.empty()) report.tables.push_back(std::move(logs));
  report.runs = std::move(runs);
  return report;
}

}  // namespace ridgeline::train
