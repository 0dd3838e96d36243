// ridgeline/core/threads.h
//
// The compute team. This is the only file of the project that knows OpenMP; in the thread-sanitizer build the team
// runs on std::thread instead. Data workers are not part of the team (data/runtime has its own pool).
#pragma once

#include <cstdint>

#include "ridgeline/core/function_ref.h"

namespace ridgeline {

// Cores this process may run on (affinity mask).
int available_cores();

// Size of the compute team. 0 (the default) means available_cores(). Process-wide, since OpenMP and the kernel
// library keep it process-wide; set once at start-up, before anything is compiled.
void set_compute_threads(int threads);
int compute_threads();

// For main(), first of all: threads of the team that wait for each other must not burn the cores that data workers
// need. OpenMP reads its wait policy when the program is loaded, so the program is started once more with the policy in
// the environment, unless the user has set one (OMP_WAIT_POLICY or GOMP_SPINCOUNT). Returns where nothing is to be
// done.
void settle_wait_policy(char** argv);

// The kernel library asks OpenMP for its team size, which OpenMP keeps a thread: call this on a thread before it makes
// or runs the library's kernels.
void adopt_compute_threads();

// Runs body(begin, end) over [0, n) in contiguous chunks, one a thread, chunk borders multiples of `grain`.
// The chunks depend on n, grain and the team size alone. An exception of a body is rethrown after the region.
void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body);

// Runs body(thread, threads) once for each thread of the team, at the same time where the threads are free; a body
// must not wait for another. An exception of a body is rethrown after the region.
void parallel_team(FunctionRef<void(int, int)> body);

// While alive, the calling thread flushes denormals to zero; restores the caller's setting at the end.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
};

}  // namespace ridgeline
