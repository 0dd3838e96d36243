#include "ridgeline/core/threads.h"

#include <sched.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>

#if defined(RIDGELINE_STD_THREADS)
#include <thread>
#include <vector>
#else
#include <omp.h>
#endif

namespace ridgeline {
namespace {

// The one process-wide setting of this file; see set_compute_threads().
std::atomic<int> g_threads{0};

// Rounds of waiting before a thread sleeps. Measured in docs/core.md: with data workers on the same cores the default
// of the library (billions) makes a step three times as slow, and sleeping at once costs a step without workers
// nothing.
[[maybe_unused]] constexpr const char* kSpinCount = "1000";

constexpr unsigned kFlushBits = 0x8040;  // FTZ and DAZ of MXCSR

}  // namespace

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

void set_compute_threads(int threads) {
  g_threads = threads > 0 ? threads : available_cores();
#if !defined(RIDGELINE_STD_THREADS)
  omp_set_num_threads(g_threads);
#endif
}

void settle_wait_policy(char** argv) {
#if defined(RIDGELINE_STD_THREADS)
  (void)argv;
#else
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  ::setenv("GOMP_SPINCOUNT", kSpinCount, 1);
  ::execv("/proc/self/exe", argv);  // comes back only if it fails: then the default policy stays
#endif
}

void adopt_compute_threads() {
#if !defined(RIDGELINE_STD_THREADS)
  omp_set_num_threads(compute_threads());
  // The team's other threads are ours for good, and the kernel library runs its own regions on them: they flush
  // denormals from here on. The calling thread keeps its setting.
#pragma omp parallel num_threads(compute_threads())
  if (omp_get_thread_num() != 0) _mm_setcsr(_mm_getcsr() | kFlushBits);
#endif
}

int compute_threads() {
  if (g_threads == 0) set_compute_threads(0);
  return g_threads;
}

void parallel_team(FunctionRef<void(int, int)> body) {
  const int team = compute_threads();
  std::exception_ptr error;
  std::mutex mutex;
  auto run = [&](int thread) {
    FlushDenormals flush;
    try {
      body(thread, team);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  if (team == 1) {
    run(0);
  } else {
#if defined(RIDGELINE_STD_THREADS)
    std::vector<std::thread> others;
    for (int t = 1; t < team; ++t) others.emplace_back(run, t);
    run(0);
    for (std::thread& other : others) other.join();
#else
    // The region may be smaller than asked for (nested in another one, OMP_THREAD_LIMIT): its threads share the parts.
#pragma omp parallel num_threads(team)
    for (int t = omp_get_thread_num(); t < team; t += omp_get_num_threads()) run(t);
#endif
  }
  if (error) std::rethrow_exception(error);
}

void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body) {
  if (n <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t grains = (n + grain - 1) / grain;
  const std::int64_t team = std::min<std::int64_t>(compute_threads(), grains);
  if (team == 1) {
    FlushDenormals flush;
    body(0, n);
    return;
  }
  parallel_team([&](int thread, int) {
    if (thread >= team) return;
    const std::int64_t begin = grains * thread / team * grain;
    const std::int64_t end = std::min(n, grains * (thread + 1) / team * grain);
    if (begin < end) body(begin, end);
  });
}

FlushDenormals::FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | kFlushBits); }
FlushDenormals::~FlushDenormals() { _mm_setcsr(saved_); }

}  // namespace ridgeline
