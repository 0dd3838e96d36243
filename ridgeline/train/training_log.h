// ridgeline/train/training_log.h
//
// The human log: a file that is appended to, and the same lines on standard error; on a terminal a progress bar below
// them, which never reaches the file. Any thread may write.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/format/wire/append_file.h"

namespace ridgeline::train {

struct StepLine {
  std::int64_t step = 0;
  double epoch = 0;       // step * global batch / records
  double fps = 0;         // images per second
  double loss = 0;        // mean cross-entropy of the batch
  double total_loss = 0;  // with the L2 penalty
  double lr = 0;
  double batch_time = 0;  // seconds per iterations_per_loop steps
  // With a loss scale: the number of steps so far that were skipped because gradients overflowed. Written on its own
  // line.
  std::optional<std::int64_t> skipped_steps = {};
};
// "step:   700  epoch:  0.6  FPS:33558.6, loss: 6.754, total_loss: 7.786  lr:0.00671  batch_time:3.051382"
std::string to_text(const StepLine& line);
// The header above such lines.
inline constexpr const char* kStepHeader = "Step   Epoch   Speed   Loss   FinLoss   LR";

struct EvaluationRow {
  std::int64_t step = 0;
  double epoch = 0;
  double top_1 = 0;  // shares of the rows, 0..1
  double top_5 = 0;
  double loss = 0;
  std::int64_t rows = 0;
  std::int64_t checkpoint_time = 0;  // seconds since 1970
  std::int64_t bad_samples = 0;      // left out, not among the rows
  std::vector<std::string> metrics;  // other requested metrics, one line each
  bool classifies = true;            // whether top_1 and top_5 are known
};
// "12600   10.0  29.946   54.90    3.99  2020-06-18 11:42:07": the time in UTC.
std::string to_text(const EvaluationRow& row);
inline constexpr const char* kEvaluationHeader = " step  epoch  top1    top5     loss   checkpoint_time(UTC)";
// Above a row without top-1 and top-5.
inline constexpr const char* kLossHeader = " step  epoch      loss  checkpoint_time(UTC)";

// "45 s", "12 min", "3 h 12 min", "2 d 4 h".
std::string duration_text(double seconds);

enum class LogTo {
  nowhere,  // for ranks whose lines another rank also writes
  file,
  file_and_terminal,
};

class TrainingLog {
 public:
  // An empty path writes to standard error only. The file is opened with the first line, so that a run that fails
  // before its first message leaves none; an existing one is continued on a new line.
  explicit TrainingLog(const std::string& path, LogTo to = LogTo::file_and_terminal);
  ~TrainingLog();
  TrainingLog(const TrainingLog&) = delete;
  TrainingLog& operator=(const TrainingLog&) = delete;
  // Writes one line, even if names in `text` contain line breaks (printable.h).
  void line(const std::string& text);
  // Draws "training [=====>    ]  52 %  52/100  1213 images/s  12 min left" on a terminal; does nothing elsewhere.
  void progress(const std::string& what, std::int64_t done, std::int64_t of, double images_per_second = 0,
                double seconds_left = -1);

 private:
  void clear_progress();
  void write_file(const std::string& text);
  void show(const std::string& text);
  void open();
  const std::string path_;
  std::mutex mutex_;                  // guards the members below
  std::unique_ptr<AppendFile> file_;  // empty before the first line
  const LogTo to_;
  const bool terminal_;
  bool bar_shown_ = false;
  bool file_closed_ = false, closed_ = false;  // the reader of the file, or of standard error, is gone
};

}  // namespace ridgeline::train
