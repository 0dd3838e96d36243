#include "ridgeline/data/tool/bench.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>

#include "ridgeline/core/random.h"

namespace ridgeline::data {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// The bytes of every column in the order of the schema; a byte string after its length.
std::uint64_t hash_batch(const Batch& batch, std::uint64_t hash) {
  for (const Column& column : batch.columns()) {
    const Tensor& values = batch.column(column.name);
    if (values.dtype() != DType::bytes) {
      hash = hash64({static_cast<const char*>(values.raw()), values.byte_size()}, hash);
      continue;
    }
    for (const std::string& text : values.string_values()) {
      const std::uint64_t size = text.size();
      hash = hash64(text, hash64({reinterpret_cast<const char*>(&size), sizeof size}, hash));
    }
  }
  return hash;
}

std::int64_t real_rows(const Batch& batch) {
  std::int64_t rows = 0;
  for (const std::uint8_t real : batch.mask().span<std::uint8_t>()) rows += real;
  return rows;
}

// Of the whole run; kUnknown where the arrangement of batches hides their number of samples.
std::int64_t samples_of(const Dataset& dataset, std::int64_t epochs) {
  const std::int64_t samples = dataset.num_samples_if_known();
  return samples < 0 ? samples : samples * epochs;
}

}  // namespace

BenchReport bench(const Dataset& dataset, const BenchOptions& options) {
  if (options.warmup < 0)
    throw Error(fmt::format("--warmup={} is out of range (allowed: 0 or more)", options.warmup), ErrorKind::usage);
  if (options.iterator.epochs < 1)
    throw Error(fmt::format("--epochs={} is out of range (allowed: 1 or more)", options.iterator.epochs),
                ErrorKind::usage);
  if (dataset.size() == kForever)
    throw Error("[bench] the graph has no end: give its repeat a count, or leave it out and give --epochs");
  BenchReport report;
  std::uint64_t hash = 0;
  Clock::time_point begin = Clock::now();
  Iterator iterator(dataset, options.iterator);
  const std::int64_t expected = options.progress ? samples_of(dataset, options.iterator.epochs) : kUnknown;
  std::int64_t seen = 0, batches = 0;
  while (const std::optional<Batch> batch = iterator.next()) {
    const std::int64_t rows = real_rows(*batch);
    seen += rows;
    if (options.hash) hash = hash_batch(*batch, hash);
    if (++batches > options.warmup) {
      ++report.batches;
      report.samples += rows;
    } else if (batches == options.warmup) {
      begin = Clock::now();
    }
    if (options.progress) options.progress(seen, expected);
  }
  report.seconds = seconds_since(begin);
  if (batches == 0) throw Error("[bench] the run has no batch: there are fewer samples than one batch takes");
  if (report.batches == 0) {
    throw Error(fmt::format("--warmup={}: the run has only {} batches, none is left to time", options.warmup, batches),
                ErrorKind::usage);
  }
  report.images_per_second = static_cast<double>(report.samples) / report.seconds;
  if (options.hash) report.hash = fmt::format("{:016x}", hash);
  report.slots = iterator.slots();
  report.slot_bytes = iterator.slots() * iterator.slot_bytes();
  report.bad_samples = iterator.bad_samples();
  report.workers = iterator.workers();
  report.stats = iterator.stats();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  report.rss_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  return report;
}

}  // namespace ridgeline::data
