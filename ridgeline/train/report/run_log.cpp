#include "ridgeline/train/report/run_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/format/text/json_lines.h"
#include "ridgeline/format/text/json_value.h"
#include "ridgeline/train/run_files.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

class Fields {
 public:
  explicit Fields(const std::map<std::string, JsonScalar>& line) : line_(line) {}
  // Not a number where the line has no such field.
  double number(const char* key) const {
    const auto it = line_.find(key);
    if (it == line_.end()) return std::nan("");
    if (const auto* real = std::get_if<double>(&it->second)) return *real;
    if (const auto* integer = std::get_if<std::int64_t>(&it->second)) return static_cast<double>(*integer);
    return std::nan("");
  }
  std::int64_t integer(const char* key) const {
    const double value = number(key);
    return std::abs(value) < 9e15 ? static_cast<std::int64_t>(value) : 0;
  }
  std::string text(const char* key) const {
    const auto it = line_.find(key);
    const auto* value = it == line_.end() ? nullptr : std::get_if<std::string>(&it->second);
    return value == nullptr ? "" : printable(*value);
  }
  bool is(const char* kind) const {
    const auto it = line_.find("kind");
    return it != line_.end() && it->second == JsonScalar(std::string(kind));
  }

 private:
  const std::map<std::string, JsonScalar>& line_;
};

void read_metrics(const std::string& path, RunLog& run) {
  for (const auto& line : read_json_lines(path)) {
    const Fields f(line);
    if (f.is("train")) {
      run.steps.push_back({f.integer("step"), f.number("epoch"), f.number("loss"), f.number("total_loss"),
                           f.number("lr"), f.number("images_per_second"), f.number("time")});
    } else if (f.is("evaluation")) {
      run.evaluations.push_back({f.integer("step"), f.number("epoch"), 100 * f.number("val-top1acc"),
                                 100 * f.number("val-top5acc"), f.number("val-loss"), f.number("time"),
                                 f.integer("rows")});
    } else if (f.is("bad_samples")) {
      run.bad_samples = f.integer("bad_samples");
    }
  }
}

std::string text_of(const JsonValue& value) {
  if (const std::string* text = value.text()) return *text;
  return to_json_text(value);
}

// The information beside the newest checkpoint, which may be gone. It is only for information: if it is missing or
// damaged the report has a gap.
void read_settings(const std::string& directory, RunLog& run) {
  std::string path;
  std::int64_t newest = -1;
  for (const std::string& file : glob_files(glob_escape(directory) + "/" + kCheckpointPrefix + "*.json")) {
    const std::int64_t step = std::atoll(fs::path(file).filename().c_str() + std::strlen(kCheckpointPrefix));
    if (step > newest) newest = step, path = file;
  }
  if (path.empty()) return;
  try {
    const JsonValue information = parse_json(read_file(path), "[report] " + path + ":");
    for (const char* key : {"model", "num_classes", "image_size", "seed", "steps_per_epoch"})
      if (const JsonValue* value = information.find(key)) run.settings.emplace_back(key, text_of(*value));
    const JsonValue* settings = information.find("settings");
    if (settings == nullptr || settings->object() == nullptr) return;
    for (const JsonMember& member : *settings->object()) {
      const std::string text = text_of(member.value);
      if (!text.empty()) run.settings.emplace_back(member.key, text);
    }
  } catch (const Error& error) {
    run.opening.push_back(std::string("settings unknown: ") + printable(error.what()));
  }
}

void read_opening(const std::string& directory, RunLog& run) {
  const std::vector<std::string> logs = glob_files(glob_escape(directory) + "/*_training.log");
  if (logs.empty()) return;
  std::istringstream log(read_file(logs.front()));
  constexpr std::size_t kMostLines = 40;  // of a log that never came to its table
  for (std::string line; std::getline(log, line) && run.opening.size() < kMostLines;) {
    if (line.rfind("Step ", 0) == 0) break;
    if (!line.empty()) run.opening.push_back(printable(line));
  }
}

void read_step_times(const std::string& directory, RunLog& run) {
  const std::string path = (fs::path(directory) / kStepTimesFile).string();
  if (!is_regular_file(path)) return;
  for (const auto& line : read_json_lines(path)) {
    const Fields f(line);
    if (!f.is("part")) continue;
    run.parts.push_back({f.text("op"), f.integer("launches"), f.number("ms"), f.number("ms_at_limit"),
                         f.number("gflop"), f.number("gflop_done"), f.number("megabytes")});
  }
}

// The last `depth` components of a path.
std::string tail(const fs::path& path, int depth) {
  fs::path end;
  fs::path rest = path;
  for (int i = 0; i < depth && rest.has_filename(); ++i, rest = rest.parent_path()) end = rest.filename() / end;
  std::string text = end.string();
  while (!text.empty() && text.back() == '/') text.pop_back();
  return text;
}

}  // namespace

double RunLog::seconds() const {
  double first = INFINITY, last = -INFINITY;
  const auto see = [&](double time) {
    if (std::isfinite(time)) first = std::min(first, time), last = std::max(last, time);
  };
  for (const TrainPoint& p : steps) see(p.time);
  for (const EvaluationPoint& p : evaluations) see(p.time);
  return last > first ? last - first : 0;
}

double RunLog::images_per_second() const {
  std::vector<double> rates;
  for (const TrainPoint& p : steps)
    if (std::isfinite(p.images_per_second)) rates.push_back(p.images_per_second);
  if (rates.empty()) return 0;
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return *middle;
}

RunLog read_run_log(const std::string& directory) {
  const std::string metrics = (fs::path(directory) / kMetricsFile).string();
  if (!is_regular_file(metrics)) {
    throw Error(fmt::format("[report] {} holds no {}: give the --log_dir of a training", directory, kMetricsFile),
                ErrorKind::usage);
  }
  RunLog run;
  run.directory = directory;
  run.name = printable(directory);
  read_metrics(metrics, run);
  read_settings(directory, run);
  read_opening(directory, run);
  read_step_times(directory, run);
  return run;
}

std::vector<RunLog> read_run_logs(const std::vector<std::string>& directories) {
  std::vector<RunLog> runs;
  std::vector<fs::path> paths;
  std::set<fs::path> seen;
  for (const std::string& directory : directories) {
    fs::path path = fs::absolute(directory).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    if (!seen.insert(path).second) throw Error(fmt::format("[report] {} is given twice", directory), ErrorKind::usage);
    paths.push_back(path);
    runs.push_back(read_run_log(directory));
  }
  // As many last components as it takes to distinguish them.
  for (int depth = 1; depth < 32; ++depth) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      runs[i].name = printable(tail(paths[i], depth));
      names.insert(runs[i].name);
    }
    if (names.size() == runs.size()) break;
  }
  return runs;
}

}  // namespace ridgeline::train
