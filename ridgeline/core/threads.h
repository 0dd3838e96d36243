// ridgeline/core/threads.h
//
// The compute team: the calling thread and those of its WorkerTeam. Only this file of the project uses OpenMP, which
// the kernel library takes its threads from. Data workers are not part of the team (data/runtime has its own pool). A
// recording (core/team_recording.h) tells how work is divided.
#pragma once

#include <cstdint>
#include <string>

#include "ridgeline/core/function_ref.h"

namespace ridgeline {

// Processors this process may use: those of its affinity mask, or fewer if a control group limits its time. At least 1.
// By default a team has one thread for each core among them (physical_cores.h).
int available_cores();

// The smallest limit of processor time of the process's control groups (version 1 or 2) and of the groups around them,
// in cores: 1.5 is one and a half. Infinity where there is no limit. Files are looked for below `root`, which tests put
// in place of "".
double control_group_cores(const std::string& root);

// How many of the `wanted` threads (0: one a core) a team on the calling thread can have: OpenMP gives fewer
// under OMP_THREAD_LIMIT and inside a parallel region of the caller's. More than 4096 are a usage Error.
int usable_threads(int wanted);

// Size of the team of the calling thread: that of its ComputeScope, and one thread a core outside of one.
int compute_threads();

// While alive, work of the calling thread is done by a team of `threads`. So is that of the kernel library, which asks
// OpenMP for the size when it makes a kernel and when it runs one. All threads of the team flush denormals to zero. At
// the end OpenMP's settings and the handling of denormals, on every thread, are as before. Scopes may be nested; one
// within a scope of the same size costs nothing, another costs two empty parallel regions.
//
// An Error if OpenMP cannot provide that many threads (see usable_threads): the library's threads would wait for the
// missing ones forever.
class ComputeScope {
 public:
  explicit ComputeScope(int threads);
  ~ComputeScope();
  ComputeScope(const ComputeScope&) = delete;
  ComputeScope& operator=(const ComputeScope&) = delete;

 private:
  void leave();

  int outer_;  // the team of the scope around this one; 0: none
  int threads_;
  int max_threads_ = 0;  // OpenMP's settings outside
  bool dynamic_ = false;
};

// Call first in main(): threads of the team that wait for each other must not take cores from data workers. OpenMP
// reads its wait policy when the program is loaded, so the program is restarted with the policy in its environment,
// unless the user has set one (OMP_WAIT_POLICY or GOMP_SPINCOUNT). Returns if there is nothing to do.
void settle_wait_policy(char** argv);

// Runs body(begin, end) over [0, n) in contiguous chunks, one a thread, chunk borders multiples of `grain`.
// The chunks depend on n, grain and the team size alone. An exception of a body is rethrown after the region.
void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body);

// Runs body(thread, threads) once for each thread of the team, at the same time where the threads are free; a body
// must not wait for another. An exception of a body is rethrown after the region.
void parallel_team(FunctionRef<void(int, int)> body);

// body(item, thread) for items 0 to n - 1. Each thread has a contiguous range of them, divided as by parallel_for, so
// that what one pass has written is read by the same core in the next: cores may have last-level caches of their own. A
// thread that has finished its range helps others, since other work may delay them. So the next item of a thread is
// most often the following one. begin(thread) is called before the first item of a thread that gets one.
void parallel_items(std::int64_t n, FunctionRef<void(int)> begin, FunctionRef<void(std::int64_t, int)> body);

// The item with which range `run` of `runs` begins.
inline std::int64_t run_border(std::int64_t n, std::int64_t run, std::int64_t runs) { return n * run / runs; }
// The largest number of ranges into which a team divides items.
constexpr std::int64_t kMostRuns = 64;

// While alive, the calling thread flushes denormals to zero; restores the caller's setting at the end.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  std::uint64_t saved_;
};

}  // namespace ridgeline
