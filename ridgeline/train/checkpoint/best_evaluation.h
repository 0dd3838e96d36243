// ridgeline/train/checkpoint/best_evaluation.h
//
// Which evaluation of a run is the best one, and where its checkpoint lies: best_checkpoint.json in the directory of
// the checkpoints names it, as `checkpoint` names the newest. Plain values and functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

// What evaluations are compared by; greater is better, and of equals the earlier is the best.
inline constexpr const char* kBestMeasure = "top-1 of the validation part";
inline double best_measure(const EvaluationRow& row) { return row.top_1; }

// nullptr: there is none. Rows in the order of their steps.
const EvaluationRow* best_of(std::span<const EvaluationRow> rows);

struct BestCheckpoint {
  std::int64_t step = 0;
  double value = 0;  // of the measure
  friend bool operator==(const BestCheckpoint&, const BestCheckpoint&) = default;
};
inline BestCheckpoint checkpoint_of(const EvaluationRow& row) { return {row.step, best_measure(row)}; }

// "step 8, top-1 of the validation part 0.93".
std::string described(const BestCheckpoint& best);
// nullopt: the directory names none.
std::optional<BestCheckpoint> read_best(const std::string& directory);
// nullopt: no longer any.
void write_best(const std::string& directory, const std::optional<BestCheckpoint>& best);

}  // namespace ridgeline::train
