// ridgeline/train/callback/model_checkpoint.h
//
// MindSpore's ModelCheckpoint: files <prefix>-<epoch>_<step in epoch>.safetensors in a directory, as often as a
// CheckpointConfig says. The files have the contents of CheckpointSaver's under other names; a new process can resume
// from them.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ridgeline/train/callback/saves_checkpoints.h"
#include "ridgeline/train/checkpoint/checkpoint.h"

namespace ridgeline::train {

struct CheckpointConfig {
  std::int64_t save_checkpoint_steps = 1;  // takes precedence over seconds
  std::int64_t save_checkpoint_seconds = 0;
  std::int64_t keep_checkpoint_max = 5;  // takes precedence over minutes; 0: all
  std::int64_t keep_checkpoint_per_n_minutes = 0;
  // A run that ends by an error of any origin leaves <prefix>-<epoch>_<step>_breakpoint.safetensors, unless the error
  // came in the middle of a step.
  bool exception_save = false;
  // Negative numbers, and no number at all, are Errors (usage).
  void check() const;
};

struct CheckpointFiles {
  std::string ending = ".safetensors";
  bool graph = false;  // also <prefix>-graph.meta, once: the text of the training step
};

void print_warning(const std::string& text);  // to standard error

class ModelCheckpoint : public SavesCheckpoints {
 public:
  // If files with the prefix exist when the first run begins, the prefix becomes <prefix>_1, _2, ... A prefix with '/'
  // is an Error.
  ModelCheckpoint(std::string prefix, std::string directory, const CheckpointConfig& config = {},
                  CheckpointFiles files = {});

  // Loads the newest intact file of that prefix, of the last run with it, into the model: parameters, slots,
  // statistics, step, and the position in the data. The run continues under the prefix of that file. Call after
  // prepare_training() with the seed of that run, before the first run. False if there is no file. An Error if none is
  // intact, or the file is of another network or seed. `warn` is told of each newer file that is not intact.
  bool resume(Model& model, const std::function<void(const std::string&)>& warn = print_warning);

  std::int64_t next_stop(std::int64_t step) const override;
  void begin(RunContext& context) override;
  void step_end(RunContext& context) override;
  void end(RunContext& context) override;
  void failed(RunContext& context) override;
  void save(const RunContext& context) override { write(context, ""); }
  // Kept in addition to the newest ones that keep_checkpoint_max counts.
  void keeps(std::int64_t step) override { kept_step_ = step; }
  // The newest checkpoint; empty: none yet, or another rank writes them.
  const std::string& latest_ckpt_file_name() const { return latest_; }

 private:
  bool due(const RunContext& context) const;
  void write(const RunContext& context, const char* suffix);
  void prune();

  struct Saved {
    std::string path;
    std::int64_t step = 0;
  };

  std::string prefix_, directory_;
  std::string name_;  // the prefix of the files; empty before the first run
  CheckpointConfig config_;
  CheckpointFiles form_;
  std::string latest_;
  std::vector<Saved> files_;
  std::int64_t saved_at_ = -1, kept_step_ = -1;
  std::chrono::steady_clock::time_point saved_, kept_;
};

}  // namespace ridgeline::train
