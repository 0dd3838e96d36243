#include "ridgeline/core/worker_team.h"

#include <pthread.h>
#include <strings.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>

#include "ridgeline/core/error.h"
#include "ridgeline/core/processor.h"

namespace ridgeline {
namespace {

constexpr int kCountBits = 13;  // for 4096 threads
constexpr std::uint32_t kCountMask = (std::uint32_t{1} << kCountBits) - 1;

std::uint32_t next_region(std::uint32_t region, int count) {
  return (((region >> kCountBits) + 1) << kCountBits) + static_cast<std::uint32_t>(count);
}

std::atomic<int> g_asleep{0};
std::atomic<unsigned> g_forks{0};

// Whether the environment says, in OpenMP's words, that waiting threads are to sleep.
bool sleep_at_once() {
  static const bool passive = [] {
    const char* policy = std::getenv("OMP_WAIT_POLICY");
    return policy != nullptr && ::strcasecmp(policy, "passive") == 0;
  }();
  return passive;
}

// How one thread waits for another value than `old`. It spins for some time: waking a sleeping thread takes as long as
// a small launch. If another thread had the core meanwhile, it sleeps immediately and spins for a shorter time in the
// following waits: on a busy machine cores belong to working threads. Under a passive wait policy it spins no longer
// than a thread switch takes.
class Waiting {
 public:
  std::uint32_t for_change(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::nanoseconds kPushedAside{20'000};
    constexpr int kLooks = 8;  // between two looks at the clock
    std::uint32_t seen = value.load(std::memory_order_acquire);
    if (seen != old) return seen;
    const Clock::time_point begin = Clock::now();
    for (Clock::time_point last = begin; g_asleep.load(std::memory_order_relaxed) == 0;) {
      for (int i = 0; i < kLooks; ++i) {
        pause_while_waiting();
        seen = value.load(std::memory_order_acquire);
        if (seen != old) break;
      }
      const Clock::time_point now = Clock::now();
      const bool pushed_aside = now - last > kPushedAside;
      if (pushed_aside) longest_ = kShortest;
      if (seen != old) return seen;
      if (pushed_aside || now - begin > longest_) break;
      last = now;
    }
    if (!sleep_at_once()) longest_ = std::min(kLongest, longest_ + longest_ / 4);
    while (seen == old) {
      value.wait(old, std::memory_order_acquire);
      seen = value.load(std::memory_order_acquire);
    }
    return seen;
  }

 private:
  static constexpr std::chrono::nanoseconds kLongest{200'000}, kShortest{2'000};
  std::chrono::nanoseconds longest_ = sleep_at_once() ? kShortest : kLongest;
};

thread_local Waiting t_waiting;

}  // namespace

WorkerTeam::Asleep::Asleep() { ++g_asleep; }
WorkerTeam::Asleep::~Asleep() { --g_asleep; }

WorkerTeam& WorkerTeam::of_this_thread() {
  [[maybe_unused]] static const int once = pthread_atfork(nullptr, nullptr, [] { ++g_forks; });
  // A parent's threads do not exist in its child and cannot be waited for.
  struct Owned {
    std::unique_ptr<WorkerTeam> team = std::make_unique<WorkerTeam>();
    unsigned forks = g_forks.load();
    void keep_or_leave() {
      if (forks != g_forks.load()) [[maybe_unused]]
        WorkerTeam* const left = team.release();
    }
    ~Owned() { keep_or_leave(); }
  };
  thread_local Owned owned;
  owned.keep_or_leave();
  if (!owned.team) {
    owned.team = std::make_unique<WorkerTeam>();
    owned.forks = g_forks.load();
  }
  return *owned.team;
}

WorkerTeam::~WorkerTeam() {
  region_.exchange(next_region(region_.load(), 0));
  region_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerTeam::reserve(int count) {
  while (static_cast<int>(threads_.size()) + 1 < count) {
    const int number = static_cast<int>(threads_.size()) + 1;
    try {
      threads_.emplace_back([this, number, region = region_.load()] { work(number, region); });
    } catch (const std::system_error& error) {
      throw Error("compute thread " + std::to_string(number + 1) + " of " + std::to_string(count) +
                  " cannot be started: " + error.code().message());
    }
  }
}

void WorkerTeam::run(int count, FunctionRef<void(int)> part) {
  RIDGELINE_CHECK(count >= 1 && static_cast<std::uint32_t>(count) <= kCountMask, "a team has a thread");
  reserve(count);
  if (count > 1) {
    part_ = &part;
    working_.store(static_cast<std::uint32_t>(count) - 1, std::memory_order_relaxed);
    // An exchange, as a fence before checking which threads sleep.
    region_.exchange(next_region(region_.load(std::memory_order_relaxed), count), std::memory_order_acq_rel);
    region_.notify_all();
  }
  part(0);
  if (count == 1) return;
  for (std::uint32_t left = working_.load(std::memory_order_acquire); left > 0;)
    left = t_waiting.for_change(working_, left);
}

void WorkerTeam::work(int number, std::uint32_t region) {
  for (;;) {
    region = t_waiting.for_change(region_, region);
    const std::uint32_t count = region & kCountMask;
    if (count == 0) return;
    if (static_cast<std::uint32_t>(number) >= count) continue;
    (*part_)(number);
    if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) working_.notify_one();
  }
}

}  // namespace ridgeline
