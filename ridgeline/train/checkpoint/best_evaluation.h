// ridgeline/train/checkpoint/best_evaluation.h
//
// Which evaluation of a run is the best one, and which checkpoint it has: best_checkpoint.json in the directory of the
// checkpoints names it, as `checkpoint` names the newest. Plain values and functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

// The measure by which evaluations are compared: top-1, or, for a network without it, the negated loss. Greater is
// better; of equals the earlier is the best.
inline const char* best_measure_name(bool classifies = true) {
  return classifies ? "top-1 of the validation part" : "the negative loss of the validation part";
}
inline double best_measure(const EvaluationRow& row) { return row.classifies ? row.top_1 : -row.loss; }

// `rows` in the order of their steps; nullptr: none.
const EvaluationRow* best_of(std::span<const EvaluationRow> rows);

struct BestCheckpoint {
  std::int64_t step = 0;
  double value = 0;        // of the measure
  bool classifies = true;  // which measure it is
  friend bool operator==(const BestCheckpoint&, const BestCheckpoint&) = default;
};
inline BestCheckpoint checkpoint_of(const EvaluationRow& row) { return {row.step, best_measure(row), row.classifies}; }

// "step 8, top-1 of the validation part 0.93".
std::string described(const BestCheckpoint& best);
// nullopt: the directory has no such file.
std::optional<BestCheckpoint> read_best(const std::string& directory);
// nullopt: removes the file.
void write_best(const std::string& directory, const std::optional<BestCheckpoint>& best);

}  // namespace ridgeline::train
