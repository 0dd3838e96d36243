#include "ridgeline/core/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/core/function_ref.h"
#include "ridgeline/core/processor.h"

namespace ridgeline {
namespace {

class Threads : public ::testing::TestWithParam<int> {
  const ComputeScope team_{GetParam()};
};

TEST_P(Threads, ParallelForCoversEveryElementOnce) {
  for (std::int64_t n : {0, 1, 2, 3, 15, 16, 17, 100, 1001}) {
    for (std::int64_t grain : {0, 1, 2, 16, 5000}) {
      std::vector<int> visits(static_cast<std::size_t>(n));
      parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
        ASSERT_LT(begin, end);
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), n) << "grain " << grain;
    }
  }
}

TEST_P(Threads, ChunkBordersAreMultiplesOfTheGrainAndAlwaysTheSame) {
  auto chunks = [](std::int64_t n, std::int64_t grain) {
    std::vector<std::pair<std::int64_t, std::int64_t>> result;
    std::mutex mutex;
    parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
      std::lock_guard lock(mutex);
      result.emplace_back(begin, end);
    });
    std::sort(result.begin(), result.end());
    return result;
  };
  const auto first = chunks(1000, 64);
  EXPECT_LE(first.size(), static_cast<std::size_t>(GetParam()));
  for (const auto& [begin, end] : first) {
    EXPECT_EQ(begin % 64, 0);
    EXPECT_TRUE(end % 64 == 0 || end == 1000);
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(chunks(1000, 64), first);
}

TEST_P(Threads, AnExceptionArrivesAfterTheRegion) {
  std::atomic<int> running{0};
  for (std::int64_t bad : {0, 50, 99}) {
    try {
      parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
        ++running;
        struct Leave {
          std::atomic<int>& count;
          ~Leave() { --count; }
        } leave{running};
        for (std::int64_t i = begin; i < end; ++i) {
          if (i == bad) throw std::runtime_error("element " + std::to_string(i));
        }
      });
      FAIL() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "element " + std::to_string(bad));
    }
    EXPECT_EQ(running, 0);
  }
}

TEST_P(Threads, TheTeamRunsEachPartOnce) {
  std::vector<int> visits(static_cast<std::size_t>(GetParam()));
  parallel_team([&](int thread, int threads) {
    ASSERT_EQ(threads, GetParam());
    ++visits[static_cast<std::size_t>(thread)];
  });
  EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), GetParam());
}

// OpenMP gives a nested region one thread, which must do all of the work.
TEST_P(Threads, NestedRegionsLoseNothing) {
  std::vector<std::atomic<int>> visits(64);
  parallel_for(8, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      parallel_for(8, 1, [&](std::int64_t b, std::int64_t e) {
        for (std::int64_t j = b; j < e; ++j) ++visits[static_cast<std::size_t>(8 * i + j)];
      });
    }
  });
  for (const auto& count : visits) EXPECT_EQ(count, 1);
}

TEST_P(Threads, SeveralCallersAtOnceGetTheirOwnResults) {
  std::vector<std::int64_t> sums(4);
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&sums, c] {
      const ComputeScope team(GetParam());
      for (int round = 0; round < 20; ++round) {
        std::atomic<std::int64_t> sum{0};
        parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) sum += i * (c + 1);
        });
        sums[static_cast<std::size_t>(c)] = sum;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (int c = 0; c < 4; ++c) EXPECT_EQ(sums[static_cast<std::size_t>(c)], 4950 * (c + 1));
}

INSTANTIATE_TEST_SUITE_P(TeamOf, Threads, ::testing::Values(1, 2, 3, 7));

TEST(ComputeThreads, AreAsManyAsThereAreCoresOutsideOfAScope) {
  EXPECT_GE(available_cores(), compute_threads());
  EXPECT_EQ(usable_threads(0), compute_threads());
  const int outside = compute_threads();
  {
    const ComputeScope five(5);
    EXPECT_EQ(compute_threads(), 5);
    {
      const ComputeScope two(2);
      EXPECT_EQ(compute_threads(), 2);
    }
    EXPECT_EQ(compute_threads(), 5);
  }
  EXPECT_EQ(compute_threads(), outside);
}

TEST(ComputeThreads, BelongToTheThreadThatAskedForThem) {
  const ComputeScope three(3);
  int elsewhere = 0;
  std::thread([&] {
    const ComputeScope two(2);
    elsewhere = compute_threads();
  }).join();
  EXPECT_EQ(elsewhere, 2);
  EXPECT_EQ(compute_threads(), 3);
}

TEST(ComputeThreads, BeyondAnyMachineAreAUsageError) {
  EXPECT_THROW(usable_threads(100000), Error);
  EXPECT_THROW(usable_threads(std::numeric_limits<int>::max()), Error);
}

float half_of(volatile float* x) { return *x * 0.5f; }

TEST(FlushDenormals, FlushesInsideAndRestoresTheCallersSetting) {
  volatile float smallest = std::numeric_limits<float>::min();
  const FloatMode before = float_mode();
  EXPECT_GT(half_of(&smallest), 0.0f);
  {
    FlushDenormals flush;
    EXPECT_EQ(half_of(&smallest), 0.0f);
    {
      FlushDenormals nested;
      EXPECT_EQ(half_of(&smallest), 0.0f);
    }
    EXPECT_EQ(half_of(&smallest), 0.0f);
  }
  EXPECT_GT(half_of(&smallest), 0.0f);
  constexpr FloatMode kRecorded = 0x3f;  // the exception flags of MXCSR
  EXPECT_EQ(float_mode() & ~kRecorded, before & ~kRecorded);
}

TEST(FlushDenormals, TheTeamFlushesAndTheCallerKeepsItsSetting) {
  volatile float smallest = std::numeric_limits<float>::min();
  std::atomic<int> kept{0};
  for (const int threads : {3, 1}) {
    const ComputeScope team(threads);
    parallel_team([&](int, int) {
      if (half_of(&smallest) != 0.0f) ++kept;
    });
    parallel_for(3, 1, [&](std::int64_t, std::int64_t) {
      if (half_of(&smallest) != 0.0f) ++kept;
    });
  }
  EXPECT_EQ(kept, 0);
  EXPECT_GT(half_of(&smallest), 0.0f);
}

TEST(FunctionRef, CallsWhatItRefersTo) {
  int total = 0;
  auto add = [&](int x) { return total += x; };
  const FunctionRef<int(int)> ref = add;
  EXPECT_EQ(ref(2), 2);
  EXPECT_EQ(ref(3), 5);
  const FunctionRef<void(int)> ignoring = add;  // the result may be ignored
  ignoring(1);
  EXPECT_EQ(total, 6);
}

}  // namespace
}  // namespace ridgeline
