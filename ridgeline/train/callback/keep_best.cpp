#include "ridgeline/train/callback/keep_best.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline::train {

void KeepBest::goes_on(std::span<const EvaluationRow> rows) {
  if (directory_.empty()) {
    if (const EvaluationRow* best = best_of(rows)) {
      best_ = checkpoint_of(*best);
      keep();
    }
    return;
  }
  const std::vector<CheckpointFile> files = list_checkpoints(directory_);
  const auto there = [&](const EvaluationRow& row) {
    return std::any_of(files.begin(), files.end(), [&](const CheckpointFile& file) { return file.step == row.step; });
  };
  std::vector<EvaluationRow> kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept), there);
  const EvaluationRow* best = best_of(rows);
  const EvaluationRow* best_kept = best_of(kept);
  if (best != nullptr && !there(*best)) {
    log_.line(fmt::format("warning: the checkpoint of the best evaluation so far ({}) is gone: {}",
                          described(checkpoint_of(*best)),
                          best_kept ? fmt::format("the best that is left is {}", described(checkpoint_of(*best_kept)))
                                    : "none of an evaluation is left"));
  }
  best_.reset();
  if (best_kept != nullptr) {
    best_ = checkpoint_of(*best_kept);
    keep();
  }
  write_if_changed();
}

void KeepBest::write_if_changed() {
  try {
    if (read_best(directory_) == best_) return;
  } catch (const Error& error) {
    log_.line(fmt::format("warning: {}; it is written again, by the evaluations of the run", error.what()));
  }
  write_best(directory_, best_);
}

void KeepBest::keep() {
  for (SavesCheckpoints* saver : savers_) saver->keeps(best_->step);
}

void KeepBest::look(const RunContext& context) {
  const std::optional<EvaluationRow> row = last_();
  if (!row || row->step != context.step() || (best_ && best_measure(*row) <= best_->value)) return;
  best_ = checkpoint_of(*row);
  keep();
  if (!directory_.empty()) write_best(directory_, best_);
}

}  // namespace ridgeline::train
