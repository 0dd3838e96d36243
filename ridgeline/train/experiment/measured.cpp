#include "ridgeline/train/experiment/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ridgeline/core/printable.h"
#include "ridgeline/format/text/number_text.h"

namespace ridgeline::train {
namespace {

struct StepTime {
  double milliseconds = std::nan(""), error = std::nan("");
};

// Images a step divided by images a second, from the run's own settings. The first line includes the start-up.
StepTime step_time(const RunLog& log) {
  double images = std::nan("");
  for (const auto& [name, value] : log.settings)
    if (name == "batch_size") images = parse_f64(value).value_or(std::nan(""));
  const double rate = log.images_per_second();
  if (!(rate > 0) || !std::isfinite(images)) return {};
  std::vector<double> times;
  for (std::size_t i = 1; i < log.steps.size(); ++i)
    if (log.steps[i].images_per_second > 0) times.push_back(1e3 * images / log.steps[i].images_per_second);
  StepTime time{.milliseconds = 1e3 * images / rate, .error = 0};
  if (times.size() < 2) return time;
  const double middle = mean(times);
  for (const double t : times) time.error += (t - middle) * (t - middle);
  const auto n = static_cast<double>(times.size());
  time.error = std::sqrt(time.error / (n - 1) / n);
  return time;
}

char sign(double difference, double margin) {
  if (!std::isfinite(difference) || !std::isfinite(margin)) return '?';
  return std::abs(difference) <= margin ? '=' : difference < 0 ? '<' : '>';
}

bool same_numbers(const RunLog& a, const RunLog& b) {
  const auto by_step = [](const RunLog& log) {
    std::vector<std::pair<std::int64_t, double>> list;
    for (const TrainPoint& p : log.steps) list.emplace_back(p.step, p.loss);
    return list;
  };
  // Loops of other lengths write other lines: only steps that both have are compared.
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

}  // namespace

double mean(const std::vector<double>& values) {
  return values.empty() ? std::nan("")
                        : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string PairedDifference::to_text(int digits) const {
  return seeds > 1 ? fmt::format("{:+.{}f} ± {:.{}f}", mean, digits, error, digits)
                   : fmt::format("{:+.{}f}", mean, digits);
}

std::vector<Measured> measure(const ExperimentResult& result) {
  std::vector<Measured> measured(result.experiment.variants.size());
  for (std::size_t v = 0; v < result.runs.size(); ++v) {
    Measured& m = measured[v];
    for (std::size_t s = 0; s < result.runs[v].size(); ++s) {
      const ExperimentRun& run = result.runs[v][s];
      m.logs.emplace_back();
      if (!run.failure.empty()) {
        m.failure = run.failure;
        continue;
      }
      RunLog log = read_run_log(run.directory);
      log.name = printable(result.experiment.variants[v].label) +
                 (result.seeds.size() > 1 ? fmt::format(" (seed {})", result.seeds[s]) : std::string());
      m.top_1.push_back(log.evaluations.empty() ? std::nan("") : log.evaluations.back().top_1);
      m.loss.push_back(log.steps.empty() ? std::nan("") : log.steps.back().loss);
      const StepTime time = step_time(log);
      m.milliseconds.push_back(time.milliseconds);
      m.time_error.push_back(time.error);
      m.seconds.push_back(run.seconds);
      m.peak_bytes = std::max(m.peak_bytes, run.peak_bytes);
      m.logs.back() = std::move(log);
    }
  }
  return measured;
}

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

char relation_of_accuracy(const Measured& base, const Measured& other) {
  const auto paired = paired_difference(base.top_1, other.top_1);
  return paired ? sign(paired->mean, 0.5 + 2 * paired->error) : '?';
}

// Several seeds show how much times scatter; lines of one run show only the scatter within it, and a run that was
// delayed in some lines would make everything equal.
char relation_of_time(const Measured& base, const Measured& other) {
  const auto paired = paired_difference(base.milliseconds, other.milliseconds);
  if (!paired) return '?';
  const double error =
      paired->seeds > 1 ? paired->error : std::hypot(base.time_error.front(), other.time_error.front());
  return sign(paired->mean, 0.05 * mean(base.milliseconds) + 2 * error);
}

char relation_of_loss(const Measured& base, const Measured& other) {
  if (same_numbers(base, other)) return '=';
  const auto paired = paired_difference(base.loss, other.loss);
  return paired ? sign(paired->mean, 0.01 * std::abs(mean(base.loss)) + 2 * paired->error) : '?';
}

bool same_numbers(const Measured& base, const Measured& other) {
  bool same = !other.logs.empty() && base.logs.size() == other.logs.size();
  for (std::size_t i = 0; same && i < other.logs.size(); ++i)
    same = base.logs[i] && other.logs[i] && same_numbers(*base.logs[i], *other.logs[i]);
  return same;
}

}  // namespace ridgeline::train
