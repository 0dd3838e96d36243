// ridgeline/data/tool/bench.h
//
// Runs a dataset without any use of its batches and reports how fast it was and where the time went. The calling thread
// is the consumer; the workers are the iterator's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ridgeline/data/runtime/iterator.h"

namespace ridgeline::data {

struct BenchOptions {
  IteratorOptions iterator = {};
  // Batches before the clock starts. They count for the digest and the stages. Batches that are already prepared when
  // the clock starts cost no time: make the run many times as long.
  std::int64_t warmup = 0;
  bool hash = false;  // of the batches; the time for it is included
  // After every batch, with the samples so far and of the whole run (kUnknown if that is unknown).
  std::function<void(std::int64_t, std::int64_t)> progress = {};
};

struct BenchReport {
  double seconds = 0;        // timed: from before the iterator is made, or from the end of a warm-up
  std::int64_t batches = 0;  // timed
  std::int64_t samples = 0;  // timed; padding and skipped samples do not count
  double images_per_second = 0;
  std::string hash;              // of all columns of all batches, in order (see hash_batch); "" unless requested
  std::int64_t slots = 0;        // batches held at a time
  std::int64_t slot_bytes = 0;   // memory of all of them
  std::int64_t rss_bytes = 0;    // the process's largest resident memory so far
  std::int64_t bad_samples = 0;  // skipped or replaced
  int workers = 0;               // 0 in pull mode
  RunStats stats;                // of the whole run
};

// Errors: a run without an end (an endless repeat in the graph, epochs kForever), one without batches, a warm-up as
// long as the run.
BenchReport bench(const Dataset& dataset, const BenchOptions& options);

}  // namespace ridgeline::data
