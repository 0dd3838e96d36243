// ridgeline/train/callback/keep_best.h
//
// Keeps the checkpoint of a run's best evaluation, however many newer ones there are, and names it in the directory
// (best_evaluation.h). Stands behind the savers, which have saved each step that is evaluated, and behind the
// evaluation.
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
  // `last`: the last evaluation, where there is one. Without a directory nothing is named, and what the savers have is
  // theirs to know.
  KeepBest(std::string directory, std::vector<SavesCheckpoints*> savers,
           std::function<std::optional<EvaluationRow>()> last, TrainingLog& log)
      : directory_(std::move(directory)), savers_(std::move(savers)), last_(std::move(last)), log_(log) {}

  // The evaluations of earlier processes of the run, in the order of their steps. A checkpoint that is gone is none: it
  // is said, and the best of the others takes its place.
  void goes_on(std::span<const EvaluationRow> rows);
  void begin(RunContext& context) override { look(context); }
  void step_end(RunContext& context) override { look(context); }

  const std::optional<BestCheckpoint>& best() const { return best_; }

 private:
  void look(const RunContext& context);
  void keep();

  std::string directory_;
  std::vector<SavesCheckpoints*> savers_;
  std::function<std::optional<EvaluationRow>()> last_;
  TrainingLog& log_;
  std::optional<BestCheckpoint> best_;
};

}  // namespace ridgeline::train
