// ridgeline/data/runtime/stats.h
//
// Where the time of a run went, for each stage and for the consumer and the workers. Counted by the workers without
// locks; a snapshot may be taken at any time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::data {

struct StageStats {
  std::string name;         // "read", "decode", "pixels"
  double busy_seconds = 0;  // summed over workers
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;  // read from the source, decoded pixels, or written into batches
  double ns_per_sample() const { return samples ? busy_seconds * 1e9 / static_cast<double>(samples) : 0; }
  double bytes_per_second() const { return busy_seconds > 0 ? static_cast<double>(bytes) / busy_seconds : 0; }
};

struct RunStats {
  std::vector<StageStats> stages;
  double seconds = 0;                // since the first next()
  double consumer_wait_seconds = 0;  // next() waited for a batch: training starved
  double worker_wait_seconds = 0;    // summed over workers: all slots full, the consumer is the slower side
  std::uint64_t batches = 0;         // delivered
  int workers = 0;                   // that may work now
  std::int64_t bad_samples = 0;      // skipped or replaced
  std::int64_t jpeg_indices = 0;     // kept in memory, and their bytes
  std::int64_t jpeg_index_bytes = 0;
  std::int64_t jpeg_indices_on_disk = 0;  // indices from an earlier run

  // One line when the consumer waited for more than a twentieth of the time ("" otherwise): how much, which stage
  // takes most, what would help.
  std::string advice() const;
  // A small table.
  std::string to_string() const;
};

}  // namespace ridgeline::data
