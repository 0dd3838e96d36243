// A program that uses OpenMP finds its own settings after our work: its team size, its handling of denormals, and no
// threads that wait for threads which no longer exist.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"

#if !defined(RIDGELINE_STD_THREADS)  // under the thread sanitizer the team does not use OpenMP

#include <omp.h>

namespace ridgeline {
namespace {

// The number of threads of the caller's region that flush denormals.
int flushing_threads(int team) {
  std::atomic<int> flushing{0};
  volatile float smallest = std::numeric_limits<float>::min();
#pragma omp parallel num_threads(team)
  if (smallest * 0.5f == 0.0f) ++flushing;
  return flushing;
}

TEST(ComputeScope, SetsTheTeamThatTheLibraryAsksForAndGivesTheCallersBack) {
  omp_set_num_threads(7);
  omp_set_dynamic(1);
  {
    const ComputeScope three(3);
    EXPECT_EQ(omp_get_max_threads(), 3);
    EXPECT_EQ(omp_get_dynamic(), 0);
    {
      const ComputeScope two(2);
      EXPECT_EQ(omp_get_max_threads(), 2);
    }
    EXPECT_EQ(omp_get_max_threads(), 3);
    parallel_for(100, 1, [](std::int64_t, std::int64_t) {});
  }
  EXPECT_EQ(omp_get_max_threads(), 7);
  EXPECT_EQ(omp_get_dynamic(), 1);
  omp_set_dynamic(0);
  omp_set_num_threads(available_cores());
}

TEST(ComputeScope, EveryThreadOfItsTeamFlushesDenormalsAndNoneAfterwards) {
  EXPECT_EQ(flushing_threads(4), 0);
  {
    const ComputeScope team(3);
    EXPECT_EQ(flushing_threads(3), 3);
    EXPECT_EQ(flushing_threads(2), 2);  // OpenMP ends the third thread
    EXPECT_EQ(flushing_threads(3), 3);  // and creates a new one
    {
      const ComputeScope more(4);
      EXPECT_EQ(flushing_threads(4), 4);
    }
    EXPECT_EQ(flushing_threads(3), 3);
  }
  EXPECT_EQ(flushing_threads(4), 0);
  EXPECT_EQ(flushing_threads(3), 0);
}

TEST(ComputeScope, AThreadThatFlushedBeforeFlushesAfterwards) {
  const FlushDenormals own;
  { const ComputeScope team(2); }
  volatile float smallest = std::numeric_limits<float>::min();
  EXPECT_EQ(smallest * 0.5f, 0.0f);
}

TEST(ComputeScope, IsRefusedWhereItsThreadsDoNotExist) {
  std::atomic<int> refused{0}, alone{0};
#pragma omp parallel num_threads(2)
  {
    alone += usable_threads(3);
    try {
      const ComputeScope team(3);
    } catch (const Error&) {
      ++refused;
    }
    const ComputeScope one(1);
    EXPECT_EQ(omp_get_max_threads(), 1);
  }
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(alone, 2);
  EXPECT_EQ(flushing_threads(2), 0);
}

}  // namespace
}  // namespace ridgeline

#endif
