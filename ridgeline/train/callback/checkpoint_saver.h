// ridgeline/train/callback/checkpoint_saver.h
//
// Checkpoints of a run: every so many steps, at its end, and wherever it stops behind a whole step. Only numbers that
// are finite are saved: as a new checkpoint removes an old one, the last good one would be lost.
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
  double seconds = 0;                 // one is due behind a loop that ends so long after the last one; 0: never
  std::int64_t keep = 5;              // newest files, beside that of keeps()
  bool writes = true;  // false: of several ranks that hold parts, one that helps to put the values together
};

class CheckpointSaver : public SavesCheckpoints {
 public:
  // `info` fills in what the file says of the run; model, step, state of the data and plan are set already.
  CheckpointSaver(CheckpointSaverOptions options, std::function<void(CheckpointInfo&)> info = {})
      : options_(std::move(options)), info_(std::move(info)) {}

  std::int64_t next_stop(std::int64_t step) const override;
  void step_end(RunContext& context) override;

  void save(const RunContext& context) override;
  // The run goes on from this file: its step is not saved again.
  void continues(std::string path, std::int64_t step) {
    path_ = std::move(path);
    saved_at_ = step;
  }
  // Where the run goes on: a kill may have come between the file and what belongs to it. Behind keeps().
  void begin(RunContext& context) override;
  void keeps(std::int64_t step) override { kept_ = step; }
  // The newest checkpoint; empty: none is written.
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
// Stands before the saver in the list.
class FiniteLoss : public Callback {
 public:
  explicit FiniteLoss(std::string directory) : directory_(std::move(directory)) {}
  void step_end(RunContext& context) override;

 private:
  std::string directory_;
};

}  // namespace ridgeline::train
