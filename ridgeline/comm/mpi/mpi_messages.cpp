#include "ridgeline/comm/mpi/mpi_messages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <set>
#include <thread>

#include "ridgeline/core/error.h"

namespace ridgeline::comm {
namespace {

using Clock = std::chrono::steady_clock;

// The most bytes of one message: MPI counts in int.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
// How long a wait spins where each rank has a core, how long it yields, and how long it sleeps between polls from then
// on: MPI itself only moves messages while it is called.
constexpr std::chrono::microseconds kBusy{100};
constexpr std::chrono::milliseconds kAwake{20};
constexpr std::chrono::microseconds kNap{50};
// How often a wait checks whether a rank has ended.
constexpr std::chrono::milliseconds kLook{20};

}  // namespace

MpiMessages::~MpiMessages() {
  if (!requests_.empty()) channel_.process.cancel(requests_);
}

void MpiMessages::send(const void* data, std::int64_t bytes, int peer, int tag) {
  const int to = channel_.members[static_cast<std::size_t>(peer)];
  for (std::int64_t at = 0; at < bytes; at += kMostBytes) {
    requests_.push_back(channel_.process.start_send(static_cast<const std::byte*>(data) + at,
                                                    std::min(kMostBytes, bytes - at), to, channel_.tag + tag));
    peers_.push_back(to);
  }
}

void MpiMessages::receive(void* data, std::int64_t bytes, int peer, int tag) {
  const int from = channel_.members[static_cast<std::size_t>(peer)];
  for (std::int64_t at = 0; at < bytes; at += kMostBytes) {
    requests_.push_back(channel_.process.start_receive(static_cast<std::byte*>(data) + at,
                                                       std::min(kMostBytes, bytes - at), from, channel_.tag + tag));
    peers_.push_back(from);
  }
}

void MpiMessages::wait() {
  const Clock::time_point begin = Clock::now();
  Clock::time_point next_look = begin + kLook;
  while (!requests_.empty()) {
    channel_.process.collect(requests_, peers_);
    if (requests_.empty()) return;
    const Clock::time_point now = Clock::now();
    if (now >= next_look) {
      check(now - begin > channel_.timeout);
      next_look = Clock::now() + kLook;
    }
    if (channel_.process.has_cores() && now - begin < kBusy) continue;
    if (now - begin < kAwake) {
      ::sched_yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
}

void MpiMessages::check(bool late) {
  MpiProcess& process = channel_.process;
  const auto own = [&](const std::string& reason) {
    process.fail(channel_.number, channel_.members, reason);
    // An earlier report of another rank takes precedence.
    throw Error("[ranks] " + process.failure_of(channel_.number).value_or(reason));
  };
  if (const auto reason = process.failure_of(channel_.number)) throw Error("[ranks] " + *reason);
  for (const int peer : peers_) {
    if (!process.peers().has_ended(peer)) continue;
    // What it sent before it ended may still be in flight, and so may the report of the first rank that noticed.
    std::this_thread::sleep_for(kLook);
    process.collect(requests_, peers_);
    if (std::find(peers_.begin(), peers_.end(), peer) == peers_.end()) return;
    own(process.told_end(peer));
  }
  if (late) {
    const std::set<int> missing(peers_.begin(), peers_.end());
    own(fmt::format("rank {} waited {} s in vain for rank {} (HCCL_EXEC_TIMEOUT)", process.rank(),
                    channel_.timeout.count() / 1000, fmt::join(missing, ", ")));
  }
}

}  // namespace ridgeline::comm
