#include "ridgeline/comm/shared/wait.h"

#include <errno.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "ridgeline/core/error.h"
#include "ridgeline/core/processor.h"

namespace ridgeline::comm {
namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4,
              "the kernel looks at the counter's own four bytes");

// Value of SharedHeader::failed.
constexpr std::int32_t kReasonIsWritten = -2;

// How often a sleeper checks whether a rank has ended.
constexpr long kSleepNanoseconds = 50'000'000;

// Asleep until `count` is woken, is another value already, or a moment has passed.
void sleep_while(std::atomic<std::uint32_t>& count, std::uint32_t value) {
  const timespec moment{.tv_sec = 0, .tv_nsec = kSleepNanoseconds};
  ::syscall(SYS_futex, &count, FUTEX_WAIT, value, &moment, nullptr, 0);
}

bool reached(std::uint32_t count, std::uint32_t value) { return static_cast<std::int32_t>(count - value) >= 0; }

}  // namespace

void report_failure(SharedHeader& header, int rank, const std::string& reason) {
  std::int32_t none = -1;
  if (!header.failed.compare_exchange_strong(none, kReasonIsWritten)) return;
  const std::size_t size = std::min(reason.size(), sizeof header.reason - 1);
  std::copy_n(reason.begin(), size, header.reason);
  header.reason[size] = '\0';
  header.failed.store(rank, std::memory_order_release);
}

std::optional<std::string> first_failure(SharedHeader& header, std::span<const int> ranks, const PeerProcesses& peers,
                                         const WaitLimits& limits) {
  std::optional<std::string> seen;
  for (const int rank : ranks) {
    const auto r = static_cast<std::size_t>(rank);
    // Ended is checked first: a rank that closed its communicator before it ended has `left` set by then.
    if (rank == limits.rank || !peers.has_ended(rank) || header.ranks[r].left.load(std::memory_order_acquire) != 0)
      continue;
    const std::string reason = fmt::format("{} (process {}) has ended", limits.names[r], peers.number(rank));
    report_failure(header, rank, reason);
    if (!seen) seen = reason;
  }
  const std::int32_t failed = header.failed.load(std::memory_order_acquire);
  if (failed >= 0) return header.reason;
  // It ended while writing a reason: that of the first failure is lost.
  return failed == kReasonIsWritten ? seen : std::nullopt;
}

void check_ranks(SharedHeader& header, std::span<const int> ranks, const PeerProcesses& peers,
                 const WaitLimits& limits) {
  const std::optional<std::string> failure = first_failure(header, ranks, peers, limits);
  if (failure && header.failed.load(std::memory_order_acquire) != limits.rank) throw Error("[ranks] " + *failure);
}

void advance(SharedCount& count) {
  count.value.fetch_add(1, std::memory_order_seq_cst);
  if (count.waiting.load(std::memory_order_seq_cst) != 0)
    ::syscall(SYS_futex, &count.value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void wait_for(SharedHeader& header, SharedCount& count, std::uint32_t value, int of, const PeerProcesses& peers,
              const WaitLimits& limits) {
  for (int look = 0; look < limits.looks; ++look) {
    if (reached(count.value.load(std::memory_order_acquire), value)) return;
    pause_while_waiting();
  }
  const std::string &own = limits.names[static_cast<std::size_t>(limits.rank)],
                    &other = limits.names[static_cast<std::size_t>(of)];
  const auto until = std::chrono::steady_clock::now() + limits.timeout;
  for (;;) {
    count.waiting.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t seen = count.value.load(std::memory_order_seq_cst);
    if (!reached(seen, value)) sleep_while(count.value, seen);
    count.waiting.fetch_sub(1, std::memory_order_seq_cst);
    if (reached(count.value.load(std::memory_order_acquire), value)) return;
    check_ranks(header, limits.all, peers, limits);
    if (header.ranks[of].left.load(std::memory_order_acquire) != 0 &&
        !reached(count.value.load(std::memory_order_acquire), value)) {
      check_ranks(header, limits.all, peers, limits);  // a failure that it told and left for
      throw Error(fmt::format("[ranks] {} waits for {}, which has closed its communicator", own, other));
    }
    if (std::chrono::steady_clock::now() > until)
      throw Error(fmt::format("[ranks] {} waited {} s in vain for {} (HCCL_EXEC_TIMEOUT)", own,
                              limits.timeout.count() / 1000, other));
  }
}

}  // namespace ridgeline::comm
