// ridgeline/train/callback/model_checkpoint.h
//
// MindSpore's ModelCheckpoint: files <prefix>-<epoch>_<step in epoch>.safetensors in a directory, as often as a
// CheckpointConfig says. The files are those of CheckpointSaver under other names; a new process goes on from them.
// CheckpointFiles gives them the names of MindSpore's own: what they hold stays the same.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ridgeline/train/callback/saves_checkpoints.h"
#include "ridgeline/train/checkpoint/checkpoint.h"

namespace ridgeline::train {

struct CheckpointConfig {
  std::int64_t save_checkpoint_steps = 1;  // beats seconds
  std::int64_t save_checkpoint_seconds = 0;
  std::int64_t keep_checkpoint_max = 5;  // beats minutes; 0: all
  std::int64_t keep_checkpoint_per_n_minutes = 0;
  // A run that ends by an error, whoever throws it, leaves <prefix>-<epoch>_<step>_breakpoint.safetensors, unless the
  // error came in the middle of a step.
  bool exception_save = false;
  // Negative numbers, and none at all, are Errors (usage).
  void check() const;
};

struct CheckpointFiles {
  std::string ending = ".safetensors";
  bool graph = false;  // also <prefix>-graph.meta, once: the text of the training step
};

void print_warning(const std::string& text);  // to standard error

class ModelCheckpoint : public SavesCheckpoints {
 public:
  // A prefix that names files in the directory when the first run begins becomes <prefix>_1, _2, ... A prefix with '/'
  // is an Error.
  ModelCheckpoint(std::string prefix, std::string directory, const CheckpointConfig& config = {},
                  CheckpointFiles files = {});

  // The newest file of that prefix that is whole, and of the last run under it, into the model: parameters, slots,
  // statistics, step, and where the data stand. The run goes on under the prefix of that file. After prepare_training()
  // with the seed of that run, before the first run. False: there is none. An Error: there are some, and none is whole,
  // or it is of another network or seed. `warn` is told of each newer one that is not whole.
  bool resume(Model& model, const std::function<void(const std::string&)>& warn = print_warning);

  std::int64_t next_stop(std::int64_t step) const override;
  void begin(RunContext& context) override;
  void step_end(RunContext& context) override;
  void end(RunContext& context) override;
  void failed(RunContext& context) override;
  void save(const RunContext& context) override { write(context, ""); }
  // Beside the newest ones that keep_checkpoint_max counts.
  void keeps(std::int64_t step) override { kept_step_ = step; }
  // The newest checkpoint; empty: there is none yet, or another rank writes them.
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
