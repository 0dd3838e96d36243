#include "ridgeline/core/threads.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "ridgeline/core/control_group.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/physical_cores.h"
#include "ridgeline/core/processor.h"
#include "ridgeline/core/team_recording.h"
#include "ridgeline/core/worker_team.h"

#if !defined(RIDGELINE_STD_THREADS)
#include <omp.h>
#endif

namespace ridgeline {
namespace {

// More threads than any machine has cores. OpenMP keeps a record of each on the stack, so a typing error would end the
// process.
constexpr int kMostThreads = 4096;

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

// The team of the innermost scope on this thread; 0: none.
thread_local int t_team = 0;

// Whether this thread is inside a region.
thread_local bool t_within = false;

bool within_region_of_openmp() {
#if defined(RIDGELINE_STD_THREADS)
  return false;
#else
  return omp_in_parallel() != 0;
#endif
}

// How a thread handled denormals before the first scope that it works for.
thread_local int t_flushing = 0;  // scopes
thread_local FloatMode t_own_setting = 0;

// Rounds of waiting before a thread sleeps. Measured in docs/core.md: with data workers on the same cores the default
// of the library (billions) makes a step three times as slow, and sleeping immediately costs a step without workers
// nothing.
[[maybe_unused]] constexpr const char* kSpinCount = "1000";

void start_flushing() {
  if (t_flushing++ > 0) return;
  t_own_setting = float_mode();
  set_float_mode(t_own_setting | kFlushSubnormals);
}

// OpenMP may have replaced a thread of the team in the meantime. The new one has no earlier setting: it gets
// `otherwise`, the caller's, with which it would have started outside.
void stop_flushing(FloatMode otherwise) {
  if (t_flushing == 0) {
    set_float_mode(otherwise);
  } else if (--t_flushing == 0) {
    set_float_mode(t_own_setting);
  }
}

#if !defined(RIDGELINE_STD_THREADS)
// Runs body() once on each of as many threads as OpenMP gives, at most `wanted`; returns how many those are.
int on_each_thread(int wanted, FunctionRef<void()> body) {
  int given = 0;
#pragma omp parallel num_threads(wanted)
  {
    if (omp_get_thread_num() == 0) given = omp_get_num_threads();
    body();
  }
  return given;
}
#endif

// Microseconds, or a negative number for "max", an absent file or invalid text.
double microseconds(std::istream& file) {
  double value = -1;
  return file >> value ? value : -1;
}

double share(double quota, double period) { return quota > 0 && period > 0 ? quota / period : kNoQuota; }

// A region that the calling thread executes chunk by chunk, instead of a team.
class RecordedRegion {
 public:
  RecordedRegion(TeamRecording& recording, TeamRegion::Dealt dealt, int threads)
      : recording_(recording), team_(threads) {
    recording_.begin_region(dealt, threads);
  }
  ~RecordedRegion() { recording_.end_region(); }
  RecordedRegion(const RecordedRegion&) = delete;
  RecordedRegion& operator=(const RecordedRegion&) = delete;
  template <class Body>
  void part(const Body& body, std::int64_t size = 0) const {
    struct Within {
      const RecordedRegion& region;
      std::int64_t size;
      int outer = std::exchange(t_team, region.team_);  // regions within the body are cut as those of the caller
      FlushDenormals flush;
      ~Within() {
        t_team = outer;
        region.recording_.end_part(size);
      }
    };
    recording_.begin_part();
    const Within within{*this, size};
    body();
  }

 private:
  TeamRecording& recording_;
  int team_;
};

// body(thread, team) on the first `count` threads of the team.
void run_on_team(int count, FunctionRef<void(int, int)> body) {
  const int team = compute_threads();
  std::exception_ptr error;
  std::mutex mutex;
  const auto run = [&](int thread) {
    FlushDenormals flush;
    const int outer = std::exchange(t_team, team);  // regions within the body are cut as those of the caller
    const bool within = std::exchange(t_within, t_within || count > 1);
    try {
      body(thread, team);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
    t_within = within;
    t_team = outer;
  };
  if (count == 1 || t_within || within_region_of_openmp()) {  // no threads beside those that are at work
    for (int thread = 0; thread < count; ++thread) run(thread);
  } else {
    WorkerTeam::of_this_thread().run(count, run);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace

double control_group_cores(const std::string& root) {
  const ControlGroups groups = control_groups(root, "cpu");
  double least = kNoQuota;
  for (const std::string& folder : groups.version_1) {
    std::ifstream quota(folder + "/cpu.cfs_quota_us"), period(folder + "/cpu.cfs_period_us");
    least = std::min(least, share(microseconds(quota), microseconds(period)));
  }
  for (const std::string& folder : groups.version_2) {
    std::ifstream file(folder + "/cpu.max");  // "150000 100000": quota and period
    const double quota = microseconds(file);
    least = std::min(least, share(quota, microseconds(file)));
  }
  return least;
}

namespace {

// The numbers of the processors that the process may use.
std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> numbers;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return numbers;
  for (int number = 0; number < CPU_SETSIZE; ++number) {
    if (CPU_ISSET(number, &set)) numbers.push_back(number);
  }
  return numbers;
}

int within_quota(int cores) {
  // A fraction of a core counts as one: a team of two that gets the time of one and a half is faster than one thread.
  const double quota = std::ceil(control_group_cores(""));
  return std::max(1, quota < cores ? static_cast<int>(quota) : cores);
}

// For a compute team; data workers, which wait for memory and files, can use a core's second thread.
int compute_cores() { return within_quota(physical_cores(allowed_processors(), "")); }

}  // namespace

int available_cores() { return within_quota(static_cast<int>(allowed_processors().size())); }

int usable_threads(int wanted) {
  if (wanted <= 0) wanted = compute_cores();
  if (wanted > kMostThreads) {
    throw Error(
        std::to_string(wanted) + " compute threads are wanted; at most " + std::to_string(kMostThreads) + " can be",
        ErrorKind::usage);
  }
#if defined(RIDGELINE_STD_THREADS)
  return wanted;
#else
  // No function of OpenMP tells it in advance.
  const int dynamic = omp_get_dynamic();
  omp_set_dynamic(0);
  const int given = on_each_thread(wanted, [] {});
  omp_set_dynamic(dynamic);
  return given;
#endif
}

int compute_threads() {
  if (t_team > 0) return t_team;
#if defined(RIDGELINE_STD_THREADS)
  static const int threads = compute_cores();
#else
  static const int threads = std::min(compute_cores(), omp_get_thread_limit());
#endif
  return threads;
}

ComputeScope::ComputeScope(int threads) : outer_(t_team), threads_(threads) {
  RIDGELINE_CHECK(threads >= 1, "a team has a thread");
  if (threads_ == outer_) return;
  if (threads_ > 1 && !t_within && !within_region_of_openmp()) WorkerTeam::of_this_thread().reserve(threads_);
  t_team = threads_;
#if defined(RIDGELINE_STD_THREADS)
  start_flushing();
#else
  max_threads_ = omp_get_max_threads();
  dynamic_ = omp_get_dynamic() != 0;
  omp_set_dynamic(0);
  omp_set_num_threads(threads_);
  const int given = on_each_thread(threads_, [] { start_flushing(); });
  if (given == threads_) return;
  leave();
  throw Error(std::to_string(threads_) + " compute threads are wanted where OpenMP gives " + std::to_string(given) +
              ": inside a parallel region of the program, or under OMP_THREAD_LIMIT");
#endif
}

ComputeScope::~ComputeScope() {
  if (threads_ != outer_) leave();
}

void ComputeScope::leave() {
  t_team = outer_;
#if defined(RIDGELINE_STD_THREADS)
  stop_flushing(float_mode());
#else
  const FloatMode own = t_flushing == 1 ? t_own_setting : float_mode();
  on_each_thread(threads_, [own] { stop_flushing(own); });
  omp_set_num_threads(max_threads_);
  omp_set_dynamic(dynamic_ ? 1 : 0);
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

void parallel_team(FunctionRef<void(int, int)> body) {
  const int team = compute_threads();
  if (TeamRecording* const recording = TeamRecording::active(); recording != nullptr && team > 1) {
    const RecordedRegion region(*recording, TeamRegion::Dealt::bodies, team);
    for (int thread = 0; thread < team; ++thread) region.part([&] { body(thread, team); });
    return;
  }
  run_on_team(team, body);
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
  const auto border = [&](std::int64_t thread) { return std::min(n, grains * thread / team * grain); };
  if (TeamRecording* const recording = TeamRecording::active()) {
    const RecordedRegion region(*recording, TeamRegion::Dealt::chunks, compute_threads());
    for (std::int64_t thread = 0; thread < team; ++thread) {
      const std::int64_t begin = border(thread), end = border(thread + 1);
      region.part([&] { body(begin, end); }, end - begin);
    }
    return;
  }
  run_on_team(static_cast<int>(team), [&](int thread, int) { body(border(thread), border(thread + 1)); });
}

void parallel_items(std::int64_t n, FunctionRef<void(int)> begin, FunctionRef<void(std::int64_t, int)> body) {
  struct alignas(64) Run {
    std::atomic<std::int64_t> next{0};
  };
  const std::int64_t count = std::min<std::int64_t>(compute_threads(), kMostRuns);
  if (TeamRecording* const recording = TeamRecording::active(); recording != nullptr && count > 1) {
    const RecordedRegion region(*recording, TeamRegion::Dealt::items, compute_threads());
    for (std::int64_t run = 0; run < count; ++run) {
      const std::int64_t first = run_border(n, run, count), end = run_border(n, run + 1, count);
      const int thread = static_cast<int>(run);
      for (std::int64_t item = first; item < end; ++item) {
        region.part([&] {
          if (item == first) begin(thread);
          body(item, thread);
        });
      }
    }
    return;
  }
  Run runs[kMostRuns];
  for (std::int64_t run = 0; run < count; ++run)
    runs[run].next.store(run_border(n, run, count), std::memory_order_relaxed);
  const auto threads = static_cast<int>(std::clamp<std::int64_t>(n, 1, compute_threads()));
  run_on_team(threads, [&](int thread, int) {
    bool begun = false;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t run = (thread + i) % count, end = run_border(n, run + 1, count);
      for (;;) {
        const std::int64_t item = runs[run].next.fetch_add(1, std::memory_order_relaxed);
        if (item >= end) break;
        if (!begun) begin(thread);
        begun = true;
        body(item, thread);
      }
    }
  });
}

FlushDenormals::FlushDenormals() : saved_(float_mode()) { set_float_mode(saved_ | kFlushSubnormals); }
FlushDenormals::~FlushDenormals() { set_float_mode(saved_); }

}  // namespace ridgeline
