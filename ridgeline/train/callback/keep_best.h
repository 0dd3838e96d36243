// ridgeline/train/callback/keep_best.h
//
// Keeps the checkpoint of a run's best evaluation, however many newer ones there are, and names it in the directory
// (best_evaluation.h). Must come after the savers, which save each evaluated step, and after the evaluation.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/train/callback/saves_checkpoints.h"
#include "ridgeline/train/checkpoint/best_evaluation.h"
#include "ridgeline/train/loop/callback.h"

namespace ridgeline::train {

class KeepBest : public Callback {
 public:
  // `last`: gives the last evaluation, if there is one. Without a directory no file names the best checkpoint; only the
  // savers know it.
  KeepBest(std::string directory, std::vector<SavesCheckpoints*> savers,
           std::function<std::optional<EvaluationRow>()> last, TrainingLog& log)
      : directory_(std::move(directory)), savers_(std::move(savers)), last_(std::move(last)), log_(log) {}

  // Takes the evaluations of earlier processes of the run, in the order of their steps. If the best one's checkpoint no
  // longer exists, that is reported, and the best of the others replaces it.
  void goes_on(std::span<const EvaluationRow> rows);
  void begin(RunContext& context) override { look(context); }
  void step_end(RunContext& context) override { look(context); }

  const std::optional<BestCheckpoint>& best() const { return best_; }

 private:
  void look(const RunContext& context);
  void keep();
  void write_if_changed();

  std::string directory_;
  std::vector<SavesCheckpoints*> savers_;
  std::function<std::optional<EvaluationRow>()> last_;
  TrainingLog& log_;
  std::optional<BestCheckpoint> best_;
};

}  // namespace ridgeline::train
