#include "ridgeline/data/runtime/stats.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/runtime/advice.h"

namespace ridgeline::data {
namespace {

// Below this share of the time, waiting is not worth a line.
constexpr double kNoticeable = 0.05;

}  // namespace

std::string RunStats::advice() const { return advice_of(*this, {}); }

std::string advice_of(const RunStats& stats, const AdviceWords& words) {
  if (stats.seconds <= 0 || stats.consumer_wait_seconds < kNoticeable * stats.seconds || stats.stages.empty())
    return "";
  const StageStats* slowest = &stats.stages[0];
  double busy = 0;
  for (const StageStats& stage : stats.stages) {
    busy += stage.busy_seconds;
    if (stage.busy_seconds > slowest->busy_seconds) slowest = &stage;
  }
  const std::string more_workers = fmt::format("more data workers ({}) or cores", words.workers);
  std::string help = slowest->name == "read" ? "faster storage, or larger files read in order"
                     : slowest->name == "decode"
                         ? more_workers + ", or images stored smaller (dataset pack)"
                         : fmt::format("{}, or smaller images ({})", more_workers, words.image_size);
  // Workers that wait for slots while the consumer waits for batches: they alternate, the ring is too short.
  if (stats.worker_wait_seconds > 0.5 * busy) help = fmt::format("more memory for prepared batches ({})", words.memory);
  return fmt::format(
      "data: the consumer waited {:.0f} % of the time; {} takes {:.0f} % of the workers' time ({:.0f} us a sample, {} "
      "workers); what helps: {}",
      100 * stats.consumer_wait_seconds / stats.seconds, slowest->name,
      busy > 0 ? 100 * slowest->busy_seconds / busy : 0.0, slowest->ns_per_sample() / 1000, stats.workers, help);
}

std::string RunStats::to_string() const {
  std::string text =
      fmt::format("{:<8} {:>10} {:>10} {:>12} {:>10}\n", "stage", "busy s", "samples", "us/sample", "MB/s");
  for (const StageStats& stage : stages) {
    text += fmt::format("{:<8} {:>10.3f} {:>10} {:>12.2f} {:>10.1f}\n", stage.name, stage.busy_seconds, stage.samples,
                        stage.ns_per_sample() / 1000, stage.bytes_per_second() / 1e6);
  }
  text += fmt::format(
      "{} batches in {:.3f} s, {} workers: consumer waited {:.3f} s for batches, workers {:.3f} s for free slots\n",
      batches, seconds, workers, consumer_wait_seconds, worker_wait_seconds);
  if (jpeg_indices > 0)
    text += fmt::format("{} JPEG indices of {:.1f} MB\n", jpeg_indices, static_cast<double>(jpeg_index_bytes) / 1e6);
  if (jpeg_indices_on_disk > 0) text += fmt::format("{} JPEG indices of an earlier run\n", jpeg_indices_on_disk);
  return text;
}

}  // namespace ridgeline::data
