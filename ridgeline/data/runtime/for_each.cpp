#include "ridgeline/data/runtime/for_each.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"

namespace ridgeline::data {
namespace {

// Pieces between two calls of `progress`.
constexpr std::int64_t kProgress = 32;
// Each has a stack and buffers; a larger number is a typing error.
constexpr int kMostWorkers = 4096;

}  // namespace

int worker_count(int workers) {
  if (workers > kMostWorkers) {
    throw Error(fmt::format("{} workers are too many (allowed: 0, one per core, to {})", workers, kMostWorkers),
                ErrorKind::usage);
  }
  return workers > 0 ? workers : available_cores();
}

void for_each(std::int64_t n, int workers, const std::function<void(std::int64_t, int)>& body,
              const std::function<void(std::int64_t, std::int64_t)>& progress) {
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::int64_t done = 0, error_at = n;
  std::exception_ptr error;
  const auto fail = [&](std::int64_t at) {  // in a catch block
    const std::lock_guard lock(mutex);
    failed = true;
    if (!error || at < error_at) {
      error_at = at;
      error = std::current_exception();
    }
  };
  const auto count = [&](std::int64_t at) {
    const std::lock_guard lock(mutex);
    ++done;
    try {
      if (progress && (done == n || done % kProgress == 0)) progress(done, n);
    } catch (...) {
      failed = true;
      error_at = at;
      error = std::current_exception();
    }
  };
  const auto work = [&](int worker) {
    for (std::int64_t i = next++; i < n && !failed; i = next++) {
      try {
        body(i, worker);
      } catch (...) {
        fail(i);
        return;
      }
      count(i);
    }
  };
  const auto threads = static_cast<int>(std::min<std::int64_t>(worker_count(workers), std::max<std::int64_t>(n, 1)));
  std::vector<std::jthread> team;
  try {
    for (int worker = 1; worker < threads; ++worker) team.emplace_back(work, worker);
  } catch (const std::system_error&) {  // the system gives no more: those that there are do all
  }
  work(0);
  team.clear();  // joins
  if (error) std::rethrow_exception(error);
}

}  // namespace ridgeline::data
