#include "bindings/shared/statistics.h"

namespace ridgeline::bindings {

// Binds every member, so that a new member does not compile until it is added here.

Statistics statistics_of(const data::StageStats& stage) {
  const auto& [name, busy_seconds, samples, bytes] = stage;
  return {{"name", name},
          {"busy_seconds", busy_seconds},
          {"samples", static_cast<std::int64_t>(samples)},
          {"bytes", static_cast<std::int64_t>(bytes)}};
}

Statistics statistics_of(const data::RunStats& stats) {
  const auto& [stages, seconds, consumer_wait, worker_wait, batches, workers, bad_samples, jpeg_indices,
               jpeg_index_bytes, jpeg_indices_on_disk] = stats;
  static_cast<void>(stages);
  return {{"seconds", seconds},
          {"consumer_wait_seconds", consumer_wait},
          {"worker_wait_seconds", worker_wait},
          {"batches", static_cast<std::int64_t>(batches)},
          {"workers", std::int64_t{workers}},
          {"bad_samples", bad_samples},
          {"jpeg_indices", jpeg_indices},
          {"jpeg_index_bytes", jpeg_index_bytes},
          {"jpeg_indices_on_disk", jpeg_indices_on_disk},
          {"advice", stats.advice()}};
}

}  // namespace ridgeline::bindings
