// Collectives between processes of this machine, beside its own limit: all processes copying as much memory at once.
//
//     bench_collectives [RANKS] [MILLIONS_OF_FLOATS] [ROUNDS]     # default: 2 ranks, 61.1 (AlexNet), 7 rounds
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "ridgeline/comm/shared/shared_communicator.h"
#include "ridgeline/core/error.h"

namespace {

using ridgeline::comm::Communicator;

// The median of the rounds, in ms; a round begins and ends with a barrier.
double median_ms(Communicator& c, int rounds, const std::function<void()>& body) {
  std::vector<double> times;
  for (int round = 0; round <= rounds; ++round) {
    c.barrier();
    const auto begin = std::chrono::steady_clock::now();
    body();
    c.barrier();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    if (round > 0) times.push_back(time.count());  // the first touches the pages
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void measure(Communicator& c, std::int64_t count, int rounds) {
  std::vector<float> values(static_cast<std::size_t>(count)), other(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<double>((i * 2654435761u) % 65536) / 65536.0 - 0.5);
  const std::int64_t bytes = count * 4;
  const auto print = [&](const char* what, double ms, double limit) {
    if (c.rank() == 0)
      fmt::print("{:16} {:8.1f} ms  {:6.1f} GB/s of each rank's values  {:5.2f} of the copy\n", what, ms,
                 static_cast<double>(bytes) / ms / 1e6, limit / ms);
  };
  const double copy =
      median_ms(c, rounds, [&] { std::memcpy(other.data(), values.data(), static_cast<std::size_t>(bytes)); });
  print("copy", copy, copy);
  using ridgeline::DType;
  using ridgeline::comm::Reduction;
  // The maximum, so that values stay what they are from round to round.
  print("all_reduce", median_ms(c, rounds, [&] { c.all_reduce(values.data(), count, DType::f32, Reduction::max); }),
        copy);
  const std::shared_ptr<void> shared = c.allocate(bytes);
  std::memcpy(shared.get(), values.data(), static_cast<std::size_t>(bytes));
  print("  of its memory", median_ms(c, rounds, [&] { c.all_reduce(shared.get(), count, DType::f32, Reduction::max); }),
        copy);
  print("reduce_scatter",
        median_ms(c, rounds,
                  [&] { c.reduce_scatter(values.data(), other.data(), count / c.size(), DType::f32, Reduction::max); }),
        copy);
  print("all_gather", median_ms(c, rounds, [&] { c.all_gather(values.data(), other.data(), bytes / c.size()); }), copy);
  print("broadcast", median_ms(c, rounds, [&] { c.broadcast(values.data(), bytes); }), copy);
  float small = 1;
  const int calls = 1000;
  const double latency = median_ms(c, rounds, [&] {
    for (int i = 0; i < calls; ++i) c.all_reduce(&small, 1, DType::f32, Reduction::max);
  });
  if (c.rank() == 0) fmt::print("all_reduce of one float: {:.2f} us\n", latency * 1000 / calls);
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  const auto count = static_cast<std::int64_t>((argc > 2 ? std::atof(argv[2]) : 61.1) * 1e6);
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 7;
  const std::string name = fmt::format("ridgeline-bench-{}", ::getpid());
  for (int r = 0; r < ranks; ++r) {
    if (::fork() != 0) continue;
    try {
      measure(*ridgeline::comm::shared_communicator({.name = name, .rank = r, .size = ranks}), count, rounds);
    } catch (const ridgeline::Error& error) {
      fmt::print(stderr, "{}\n", error.what());
      std::exit(1);
    }
    std::exit(0);
  }
  int status = 0, failed = 0;
  while (::wait(&status) > 0) failed |= status;
  return failed != 0;
}
