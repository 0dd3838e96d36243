#include "ridgeline/train/metrics.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>

namespace ridgeline::train {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string host_name() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return host;
}

}  // namespace

Metrics::Metrics(const std::string& directory)
    : path_((std::filesystem::path(directory) / "metrics.jsonl").string()),
      lines_(path_),
      events_(std::make_unique<EventFileWriter>(
          continue_events(directory, now(), host_name(), [&](const std::string& text) { note_ = text; }))) {}

void Metrics::write(const StepLine& l) {
  lines_.write({{"kind", std::string("train")},
                {"step", l.step},
                {"epoch", l.epoch},
                {"loss", l.loss},
                {"total_loss", l.total_loss},
                {"lr", l.lr},
                {"images_per_second", l.fps},
                {"batch_time", l.batch_time},
                {"time", now()}});
  const std::array<EventFileWriter::Scalar, 4> scalars{{{"loss", static_cast<float>(l.loss)},
                                                        {"total_loss", static_cast<float>(l.total_loss)},
                                                        {"lr", static_cast<float>(l.lr)},
                                                        {"images_per_second", static_cast<float>(l.fps)}}};
  events_->add(l.step, now(), scalars);
}

void Metrics::write(const EvaluationRow& r) {
  lines_.write({{"kind", std::string("evaluation")},
                {"step", r.step},
                {"epoch", r.epoch},
                {"val-top1acc", r.top_1},
                {"val-top5acc", r.top_5},
                {"val-loss", r.loss},
                {"rows", r.rows},
                {"bad_samples", r.bad_samples},
                {"time", now()}});
  const std::array<EventFileWriter::Scalar, 3> scalars{{{"val-top1acc", static_cast<float>(r.top_1)},
                                                        {"val-top5acc", static_cast<float>(r.top_5)},
                                                        {"val-loss", static_cast<float>(r.loss)}}};
  events_->add(r.step, now(), scalars);
}

void Metrics::write_bad_samples(std::int64_t step, double epoch, std::int64_t count) {
  lines_.write({{"kind", std::string("bad_samples")},
                {"step", step},
                {"epoch", epoch},
                {"bad_samples", count},
                {"time", now()}});
}

}  // namespace ridgeline::train
