#include "ridgeline/train/metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/train/ranks/ranks.h"
#include "ridgeline/train/run_files.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

using Line = std::map<std::string, JsonScalar>;

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string host_name() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return host;
}

bool has_event_files(const std::string& directory) {
  return !glob_files(glob_escape(directory) + "/events.out.tfevents.*").empty();
}

// 0 where the line has no such number.
double number(const Line& line, const std::string& key) {
  const auto it = line.find(key);
  const auto* value = it == line.end() ? nullptr : std::get_if<double>(&it->second);
  return value ? *value : 0;
}

std::int64_t integer(const Line& line, const std::string& key) {
  const auto it = line.find(key);
  const auto* value = it == line.end() ? nullptr : std::get_if<std::int64_t>(&it->second);
  return value ? *value : 0;
}

bool is_evaluation(const Line& line) {
  const auto it = line.find("kind");
  return it != line.end() && it->second == JsonScalar("evaluation");
}

EvaluationRow evaluation_of(const Line& line) {
  EvaluationRow row;
  row.step = integer(line, "step");
  row.epoch = number(line, "epoch");
  row.classifies = line.contains("val-top1acc");
  row.top_1 = number(line, "val-top1acc");
  row.top_5 = number(line, "val-top5acc");
  row.loss = number(line, "val-loss");
  row.rows = integer(line, "rows");
  row.bad_samples = integer(line, "bad_samples");
  const bool told = line.contains("checkpoint_time");
  row.checkpoint_time = told ? integer(line, "checkpoint_time") : static_cast<std::int64_t>(number(line, "time"));
  return row;
}

}  // namespace

Metrics::Metrics(const std::string& directory, std::int64_t step)
    : path_((fs::path(directory) / kMetricsFile).string()) {
  resume(step);
  lines_.emplace(path_);
  const bool earlier = has_event_files(directory);
  events_ = std::make_unique<EventFileWriter>(
      continue_events(directory, now(), host_name(), [&](const std::string& text) { notes_.push_back(text); }));
  if (earlier) events_->start(step + 1, now());
}

void Metrics::resume(std::int64_t step) {
  if (!is_regular_file(path_)) return;  // none yet, or a pipe that keeps nothing
  std::error_code none;
  if (step == 0) {
    if (fs::file_size(path_, none) == 0) return;
    fs::rename(path_, path_ + ".old", none);
    if (none) throw Error("cannot rename " + path_ + ": " + none.message());
    notes_.push_back(fmt::format("{} begins anew, that of the earlier run is now {}.old", kMetricsFile, path_));
    return;
  }
  const std::size_t removed = remove_json_lines(path_, [&](const Line& line) {
    if (integer(line, "step") > step) return true;
    skipped_steps_ = std::max(skipped_steps_, integer(line, "skipped_steps"));
    if (is_evaluation(line)) {
      evaluations_.push_back(evaluation_of(line));
      if (evaluations_.back().step == step) evaluation_ = evaluations_.back();
    }
    return false;
  });
  if (removed > 0)
    notes_.push_back(fmt::format("{}: {} lines of steps after {} removed, they are done again", path_, removed, step));
}

void Metrics::write(const StepLine& l) {
  if (!lines_) return;
  std::vector<JsonField> fields{
      {"kind", std::string("train")}, {"step", l.step}, {"epoch", l.epoch},           {"loss", l.loss},
      {"total_loss", l.total_loss},   {"lr", l.lr},     {"images_per_second", l.fps}, {"batch_time", l.batch_time}};
  if (l.skipped_steps) fields.push_back({"skipped_steps", *l.skipped_steps});
  fields.push_back({"time", now()});
  lines_->write(fields);
  const std::array<EventFileWriter::Scalar, 4> scalars{{{"loss", static_cast<float>(l.loss)},
                                                        {"total_loss", static_cast<float>(l.total_loss)},
                                                        {"lr", static_cast<float>(l.lr)},
                                                        {"images_per_second", static_cast<float>(l.fps)}}};
  events_->add(l.step, now(), scalars);
}

void Metrics::write(const EvaluationRow& r) {
  evaluations_.push_back(r);
  evaluation_ = r;
  if (!lines_) return;
  std::vector<JsonField> fields{{"kind", std::string("evaluation")}, {"step", r.step}, {"epoch", r.epoch}};
  std::vector<EventFileWriter::Scalar> scalars;
  const auto add = [&](const char* name, double value) {
    fields.push_back({name, value});
    scalars.push_back({name, static_cast<float>(value)});
  };
  if (r.classifies) {
    add("val-top1acc", r.top_1);
    add("val-top5acc", r.top_5);
  }
  add("val-loss", r.loss);
  for (const JsonField& field : {JsonField{"rows", r.rows}, JsonField{"bad_samples", r.bad_samples},
                                 JsonField{"checkpoint_time", r.checkpoint_time}, JsonField{"time", now()}})
    fields.push_back(field);
  lines_->write(fields);
  events_->add(r.step, now(), scalars);
}

void Metrics::write_bad_samples(std::int64_t step, double epoch, std::int64_t count) {
  if (!lines_) return;
  lines_->write({{"kind", std::string("bad_samples")},
                 {"step", step},
                 {"epoch", epoch},
                 {"bad_samples", count},
                 {"time", now()}});
}

void Metrics::share(const Ranks& ranks) {
  if (ranks.size() == 1) return;
  struct Row {
    std::int64_t step;
    double epoch, top_1, top_5, loss;
    std::int64_t rows, checkpoint_time, bad_samples, classifies;
  };
  std::vector<EvaluationRow> known = evaluations_;
  if (evaluation_) known.push_back(*evaluation_);
  std::string bytes;
  for (const EvaluationRow& r : known) {
    const Row row{
        r.step, r.epoch, r.top_1, r.top_5, r.loss, r.rows, r.checkpoint_time, r.bad_samples, r.classifies ? 1 : 0};
    bytes.append(reinterpret_cast<const char*>(&row), sizeof row);
  }
  bytes += evaluation_ ? '1' : '0';
  ranks.tell(bytes);
  if (ranks.main()) return;
  evaluations_.clear();
  evaluation_.reset();
  for (std::size_t at = 0; at + sizeof(Row) <= bytes.size(); at += sizeof(Row)) {
    Row r{};
    std::memcpy(&r, bytes.data() + at, sizeof r);
    evaluations_.push_back(
        {r.step, r.epoch, r.top_1, r.top_5, r.loss, r.rows, r.checkpoint_time, r.bad_samples, {}, r.classifies != 0});
  }
  if (bytes.back() != '1') return;
  evaluation_ = std::move(evaluations_.back());
  evaluations_.pop_back();
}

}  // namespace ridgeline::train
