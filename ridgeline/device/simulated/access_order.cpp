#include "ridgeline/device/simulated/access_order.h"

#include <algorithm>
#include <iterator>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

constexpr std::array<const char*, AccessOrder::kStreams> kNames = {"compute", "copies", "exchanges"};

void join(AccessOrder::Clock& to, const AccessOrder::Clock& from) {
  for (std::size_t s = 0; s < to.size(); ++s) to[s] = std::max(to[s], from[s]);
}

}  // namespace

void AccessOrder::split(const char* at) {
  auto range = ranges_.upper_bound(at);
  if (range == ranges_.begin()) return;
  --range;
  if (range->first == at || range->second.end <= at) return;
  Range behind = range->second;
  range->second.end = at;
  ranges_.emplace_hint(std::next(range), at, std::move(behind));
}

void AccessOrder::add(std::size_t stream, std::span<const Access> accesses, const std::string& what) {
  const std::lock_guard lock(mutex_);
  Clock& clock = clocks_[stream];
  join(clock, host_);
  const std::uint64_t now = ++clock[stream];
  const auto refuse = [&](std::size_t other, const std::string& how) {
    throw Error("[simulated] " + what + " on the stream of " + kNames[stream] + " " + how + " on the stream of " +
                kNames[other] + ", and nothing orders the two");
  };
  for (const Access& access : accesses) {
    if (access.bytes == 0) continue;
    const char* const end = access.begin + access.bytes;
    split(access.begin);
    split(end);
    const char* at = access.begin;
    auto range = ranges_.lower_bound(at);
    while (at < end) {
      if (range == ranges_.end() || range->first > at) {
        const char* const gap = range == ranges_.end() ? end : std::min(end, range->first);
        range = ranges_.emplace_hint(range, at, Range{.end = gap});
      }
      Range& bytes = range->second;
      if (bytes.writer < kStreams && clock[bytes.writer] < bytes.written)
        refuse(bytes.writer, "touches what " + bytes.writing + " writes");
      if (access.writes) {
        for (std::size_t s = 0; s < kStreams; ++s) {
          if (clock[s] < bytes.read[s]) refuse(s, "writes what is read");
        }
        bytes.writer = stream;
        bytes.written = now;
        bytes.writing = what;
        bytes.read = {};
      } else {
        bytes.read[stream] = now;
      }
      at = bytes.end;
      ++range;
    }
  }
}

AccessOrder::Clock AccessOrder::record(std::size_t stream) const {
  const std::lock_guard lock(mutex_);
  return clocks_[stream];
}

void AccessOrder::wait(std::size_t stream, const Clock& clock) {
  const std::lock_guard lock(mutex_);
  join(clocks_[stream], clock);
}

void AccessOrder::host_waits(const Clock& clock) {
  const std::lock_guard lock(mutex_);
  join(host_, clock);
}

void AccessOrder::forget(const char* begin, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  split(begin);
  split(begin + bytes);
  ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(begin + bytes));
}

}  // namespace ridgeline
