// ridgeline/train/callback/step_log.h
//
// The step lines of the human log, and the same numbers in metrics.jsonl and the event file.
#pragma once

#include <optional>

#include "ridgeline/train/loop/callback.h"
#include "ridgeline/train/loop/progress_watch.h"
#include "ridgeline/train/metrics.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

struct StepLogOptions {
  std::int64_t batch_size = 1;  // images a step
  std::int64_t records = 1;     // an epoch
  std::int64_t loop = 1;        // iterations_per_loop: batch_time is for this many steps
  bool every_loop = false;      // each loop ends with a line
  std::int64_t summary = 100;   // steps between lines
  std::int64_t display = 1;     // only steps that are a multiple
  std::int64_t skipped = 0;     // steps that earlier processes of the run skipped under a loss scale
};

class StepLog : public Callback {
 public:
  StepLog(const StepLogOptions& options, TrainingLog& log) : options_(options), log_(log) {}

  std::int64_t next_stop(std::int64_t step) const override { return next_multiple(step, options_.summary); }
  void begin(RunContext& context) override;
  void epoch_begin(RunContext& context) override;
  void step_end(RunContext& context) override;
  void end(RunContext& context) override;

  // The last line; step 0 before the first.
  const StepLine& last() const { return last_; }
  // Of the run so far, see RunContext.
  std::int64_t skipped_steps() const { return skipped_; }
  // Without the first line, which includes start-up, unless it is the only one.
  double mean_fps() const { return lines_ > 1 ? fps_sum_ / static_cast<double>(lines_ - 1) : last_.fps; }
  // Whether a step that does not end the run gets a line.
  bool due(std::int64_t step) const;

 private:
  void write(const RunContext& context);
  void tell_skipped(const RunContext& context);
  void tell_standstill(const RunContext& context);

  StepLogOptions options_;
  TrainingLog& log_;
  std::optional<ProgressWatch> watch_;
  StepLine last_;
  bool header_ = false;
  std::int64_t lines_ = 0;
  std::int64_t skipped_ = 0, skipped_told_ = 0;
  double standstill_told_ = 0;  // of the overflows in a row, how many the last line told
  double fps_sum_ = 0;          // of all lines except the first
  double seconds_ = 0;          // of the loops since the last line
  std::int64_t steps_ = 0;
};

// Must come after the StepLog in the list.
class MetricsLog : public Callback {
 public:
  MetricsLog(const StepLog& lines, Metrics& metrics) : lines_(lines), metrics_(metrics) {}
  void step_end(RunContext&) override {
    if (lines_.last().step != written_) metrics_.write(lines_.last());
    written_ = lines_.last().step;
  }

 private:
  const StepLog& lines_;
  Metrics& metrics_;
  std::int64_t written_ = 0;
};

}  // namespace ridgeline::train
