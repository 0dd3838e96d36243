#include "ridgeline/data/sample/scratch.h"

namespace ridgeline::data {

void Counters::add(Part part, std::uint64_t ns, std::uint64_t n, std::uint64_t b) {
  const auto i = static_cast<std::size_t>(part);
  const auto plus = [](std::atomic<std::uint64_t>& x, std::uint64_t d) {
    x.store(x.load(std::memory_order_relaxed) + d, std::memory_order_relaxed);
  };
  plus(nanoseconds[i], ns);
  plus(samples[i], n);
  plus(bytes[i], b);
}

void Scratch::lap(Part part, std::uint64_t bytes) {
  if (!timed) return;
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t rows = cheap ? kSampled : 1;
  counters.add(part, static_cast<std::uint64_t>(std::chrono::nanoseconds(now - mark).count()) * rows, rows,
               bytes * rows);
  mark = now;
}

}  // namespace ridgeline::data
