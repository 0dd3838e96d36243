// ridgeline/train/run_files.h
//
// What a run calls the files that it writes into its directory, in addition to its log.
#pragma once

#include <string_view>

namespace ridgeline::train {

inline constexpr char kMetricsFile[] = "metrics.jsonl";
inline constexpr char kStepTimesFile[] = "launches.jsonl";
inline constexpr char kNewestCheckpointFile[] = "checkpoint";          // names the newest checkpoint
inline constexpr char kBestCheckpointFile[] = "best_checkpoint.json";  // likewise that of the best evaluation
inline constexpr char kLockFile[] = ".lock";                           // while the run lasts
inline constexpr char kCheckpointPrefix[] = "model.ckpt-";             // of checkpoints and their information

// Whether `name` is one of these, an event file of TensorBoard, or an earlier run's metrics (kMetricsFile + ".old").
bool is_file_of_runs(std::string_view name);

}  // namespace ridgeline::train
