#include "ridgeline/device/cpu/bandwidth.h"

#include <atomic>
#include <cstdint>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/cpu_device.h"

namespace ridgeline::device {
namespace {

constexpr std::int64_t kWords = std::int64_t{32} << 20;  // 256 MB
constexpr std::int64_t kLine = 8;                        // words of a cache line
constexpr std::int64_t kAhead = 384;                     // words: what is asked for early, as our sums do

// One word of each cache line is enough: the whole line comes from memory. Four sums hide the latency of the adds.
std::uint64_t sum_lines(const std::uint64_t* from, std::int64_t words) {
  std::uint64_t sums[4] = {};
  for (std::int64_t i = 0; i + 4 * kLine <= words; i += 4 * kLine) {
    for (std::int64_t k = 0; k < 4; ++k) {
      __builtin_prefetch(from + i + k * kLine + kAhead);  // behind the end nothing happens
      sums[k] += from[i + k * kLine];
    }
  }
  return sums[0] + sums[1] + sums[2] + sums[3];
}

}  // namespace

MeasuredRate measure_memory_rate() {
  // On huge pages, like the values of a step (CpuDevice::allocate): with small ones address translation would be the
  // limit.
  const auto memory = CpuDevice(std::nullopt).allocate(static_cast<std::size_t>(kWords) * sizeof(std::uint64_t));
  auto* const words = static_cast<std::uint64_t*>(memory->address());
  parallel_for(kWords, 4096, [&](std::int64_t begin, std::int64_t end) {
    std::uint64_t state = static_cast<std::uint64_t>(begin);
    for (std::int64_t i = begin; i < end; ++i) words[i] = state = state * 6364136223846793005u + 1;
  });
  std::atomic<std::uint64_t> sink{0};
  return measure_rate(7, static_cast<double>(kWords) * sizeof(std::uint64_t) / 1e9, [&](int) {
    parallel_for(kWords, 4096, [&](std::int64_t from, std::int64_t to) { sink += sum_lines(words + from, to - from); });
  });
}

}  // namespace ridgeline::device
