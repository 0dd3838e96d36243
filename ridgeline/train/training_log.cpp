#include "ridgeline/train/training_log.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::train {

std::string to_text(const StepLine& l) {
  return fmt::format(
      "step:{:6d}  epoch:{:5.1f}  FPS:{:7.1f}, loss:{:6.3f}, total_loss:{:6.3f}  lr:{:7.5f}  batch_time:{:3.6f}",
      l.step, l.epoch, l.fps, l.loss, l.total_loss, l.lr, l.batch_time);
}

std::string to_text(const EvaluationRow& row) {
  const auto time = static_cast<std::time_t>(row.checkpoint_time);
  std::tm utc{};
  gmtime_r(&time, &utc);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &utc);
  if (!row.classifies) return fmt::format("{:5d}  {:5.1f}  {:8.4f}  {}", row.step, row.epoch, row.loss, stamp);
  return fmt::format("{:5d}  {:5.1f}  {:5.3f}  {:6.2f}  {:6.2f}  {}", row.step, row.epoch, 100 * row.top_1,
                     100 * row.top_5, row.loss, stamp);
}

std::string duration_text(double seconds) {
  const auto minutes = static_cast<std::int64_t>(seconds / 60);
  if (minutes < 2) return fmt::format("{:.0f} s", seconds);
  if (minutes < 120) return fmt::format("{} min", minutes);
  if (minutes < 48 * 60) return fmt::format("{} h {} min", minutes / 60, minutes % 60);
  return fmt::format("{} d {} h", minutes / 1440, minutes % 1440 / 60);
}

TrainingLog::TrainingLog(const std::string& path, LogTo to)
    : path_(path), to_(to), terminal_(to == LogTo::file_and_terminal && ::isatty(STDERR_FILENO) != 0) {}

void TrainingLog::open() {
  file_ = std::make_unique<AppendFile>(path_);
  // A line that an earlier process left torn must not swallow the first one of this.
  if (file_->size() > 0 && read_file(path_).back() != '\n') file_->append("\n");
}

TrainingLog::~TrainingLog() { clear_progress(); }

void TrainingLog::line(const std::string& text) {
  if (to_ == LogTo::nowhere) return;
  const std::string shown = printable(text);
  const std::lock_guard lock(mutex_);
  clear_progress();
  write_file(shown + "\n");
  show(shown + "\n");
}

// When the reader of a log's pipe closes it (`| head -1`), the run ends as after an interrupt. Files and terminals have
// no such reader.
void TrainingLog::write_file(const std::string& text) {
  if (path_.empty() || file_closed_) return;
  if (!file_) open();
  try {
    file_->append(text);
  } catch (const Error&) {
    if (!file_->reader_gone()) throw;
    file_closed_ = true;
    set_interrupted(true);
  }
}

void TrainingLog::show(const std::string& text) {
  if (closed_ || to_ != LogTo::file_and_terminal) return;
  if (std::fputs(text.c_str(), stderr) >= 0 || errno != EPIPE) return;
  closed_ = true;
  set_interrupted(true);
}

void TrainingLog::progress(const std::string& what, std::int64_t done, std::int64_t of, double images_per_second,
                           double seconds_left) {
  if (!terminal_ || of <= 0) return;
  winsize window{};
  const int columns = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
  const double share = std::clamp(static_cast<double>(done) / static_cast<double>(of), 0.0, 1.0);
  std::string tail = fmt::format("] {:3.0f} %  {}/{}", 100 * share, done, of);
  if (images_per_second > 0) tail += fmt::format("  {:.0f} images/s", images_per_second);
  if (seconds_left >= 0) tail += fmt::format("  {} left", duration_text(seconds_left));
  const int width = columns - 1 - static_cast<int>(what.size() + 2 + tail.size());
  std::string bar;
  if (width >= 8) {
    const auto full = static_cast<std::size_t>(share * width);
    bar = std::string(full, '=');
    if (full < static_cast<std::size_t>(width)) bar += '>';
    bar.resize(static_cast<std::size_t>(width), ' ');
  }
  const std::lock_guard lock(mutex_);
  std::fprintf(stderr, "\r\x1b[2K%s [%s%s", what.c_str(), bar.c_str(), tail.c_str());
  std::fflush(stderr);
  bar_shown_ = true;
}

void TrainingLog::clear_progress() {
  if (!bar_shown_) return;
  std::fputs("\r\x1b[2K", stderr);
  bar_shown_ = false;
}

}  // namespace ridgeline::train
