// ridgeline/train/callback/checkpoint_saver.h
//
// Saves checkpoints of a run: periodically, at its end, and wherever it stops after a complete step. Only finite
// numbers are saved: since new checkpoints replace old ones, the last good one would be lost.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ridgeline/train/callback/saves_checkpoints.h"
#include "ridgeline/train/checkpoint/checkpoint.h"

namespace ridgeline::train {

struct CheckpointSaverOptions {
  std::string directory;
  std::vector<std::int64_t> periods;  // in steps; a checkpoint is due at the multiples of each
  double seconds = 0;                 // one is due after a loop that ends this long after the last one; 0: never
  std::int64_t keep = 5;              // number of newest files to keep, in addition to that of keeps()
  bool writes = true;  // false: of several ranks that hold shards, one that only helps to gather the values
};

class CheckpointSaver : public SavesCheckpoints {
 public:
  // `info` fills in what the file tells about the run; model, step, state of the data and plan are already set.
  CheckpointSaver(CheckpointSaverOptions options, std::function<void(CheckpointInfo&)> info = {})
      : options_(std::move(options)), info_(std::move(info)) {}

  std::int64_t next_stop(std::int64_t step) const override;
  void step_end(RunContext& context) override;

  void save(const RunContext& context) override;
  // The run is resumed from this file: its step is not saved again.
  void continues(std::string path, std::int64_t step) {
    path_ = std::move(path);
    saved_at_ = step;
  }
  // For a resumed run: it may have been killed after writing the file but before the rest of a save. Call after
  // keeps().
  void begin(RunContext& context) override;
  void keeps(std::int64_t step) override { kept_ = step; }
  // The newest checkpoint; empty: none was written.
  const std::string& path() const { return path_; }
  // Seconds of the longest save; 0: none was made.
  double longest() const { return longest_; }

 private:
  CheckpointSaverOptions options_;
  std::function<void(CheckpointInfo&)> info_;
  std::string path_;
  std::int64_t saved_at_ = -1, kept_ = -1;
  double longest_ = 0;
  std::chrono::steady_clock::time_point saved_time_ = std::chrono::steady_clock::now();
};

// Ends a run whose loss is not finite with an Error that names step, rate and the last good checkpoint of `directory`.
// Must come before the saver in the list.
class FiniteLoss : public Callback {
 public:
  explicit FiniteLoss(std::string directory) : directory_(std::move(directory)) {}
  void step_end(RunContext& context) override;

 private:
  std::string directory_;
};

}  // namespace ridgeline::train
