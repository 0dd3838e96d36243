// Measures the overhead of the data engine: rows per second of pipelines whose operations cost almost nothing, with one
// worker and with all. With `permutation` it checks that the shuffle is a bijection for every size up to 70,000.
//   build/bench_data_rows [permutation]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "ridgeline/core/permutation.h"
#include "ridgeline/data/data.h"

namespace {

using namespace ridgeline;

data::Dataset numbers(std::int64_t rows) {
  Tensor x(DType::f32, Shape{rows, 4}), label(DType::i32, Shape{rows});
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < 4; ++k) x.data<float>()[4 * i + k] = static_cast<float>(i * 7 + k);
    label.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 10);
  }
  return data::InMemory({{"x", x}, {"label", label}});
}

double rows_per_second(const data::Dataset& dataset, int workers) {
  std::vector<double> runs;
  for (int run = 0; run < 5; ++run) {
    data::Iterator it(dataset, {.workers = workers, .epochs = data::kForever});
    for (int i = 0; i < 50; ++i) it.next();
    const auto begin = std::chrono::steady_clock::now();
    std::int64_t rows = 0;
    double seconds = 0;
    while (seconds < 0.3) {
      for (int i = 0; i < 50; ++i) rows += it.next()->samples();
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    runs.push_back(static_cast<double>(rows) / seconds);
  }
  std::sort(runs.begin(), runs.end());
  return runs[runs.size() / 2];
}

int check_permutations() {
  std::vector<std::uint8_t> seen;
  for (std::uint64_t n = 1; n <= 70000; ++n) {
    const Permutation permutation(n, philox_key(n, "sweep"), n % 5);
    seen.assign(n, 0);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t at = permutation.at(i);
      if (at >= n || seen[at]++) {
        fmt::print("n = {}: position {} repeats {}\n", n, i, at);
        return 1;
      }
    }
    if (n % 10000 == 0) fmt::print("up to {}: every one is a bijection\n", n);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "permutation") == 0) return check_permutations();
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  const data::Dataset rows = numbers(1 << 20);
  const std::vector<std::pair<const char*, data::Dataset>> pipelines{
      {"in_memory, batch", rows.batch(1024)},
      {"in_memory, shuffle, batch", rows.shuffle().batch(1024)},
      {"in_memory, shuffle, map(rescale), batch", rows.shuffle().map_columns({"x"}, {data::Rescale(0.5)}).batch(1024)},
      {"in_memory, shuffle, filter(label), batch",
       rows.shuffle().filter(data::compare("label", "less", 5)).batch(1024)},
  };
  fmt::print("{:<44} {:>16} {:>16}\n", "million rows a second", "1 worker", fmt::format("{} workers", all));
  for (const auto& [name, dataset] : pipelines)
    fmt::print("{:<44} {:>16.2f} {:>16.2f}\n", name, rows_per_second(dataset, 1) / 1e6,
               rows_per_second(dataset, all) / 1e6);
}
