// ridgeline/device/simulated/access_order.h
//
// Checks that work on several streams is ordered: any two pieces of work that touch the same bytes, one of them
// writing, must be ordered by a stream, by events, or by a wait of the host in between. Each stream counts its work,
// and knows up to which piece of every other stream it has waited (a vector clock). Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>

namespace ridgeline {

// Bytes that work reads or writes. Addresses as programs use them.
struct Access {
  const char* begin;
  std::size_t bytes;
  bool writes;
};

class AccessOrder {
 public:
  static constexpr std::size_t kStreams = 3;
  using Clock = std::array<std::uint64_t, kStreams>;

  // Adds the next piece of work of a stream: an Error if it conflicts with work of another stream for which it has not
  // waited.
  void add(std::size_t stream, std::span<const Access> accesses, const std::string& what);
  // The clock that a waiter for an event recorded on the stream now has waited for.
  Clock record(std::size_t stream) const;
  void wait(std::size_t stream, const Clock& clock);
  // The host has waited: all work that it gives to any stream from now on comes after that.
  void host_waits(const Clock& clock);
  // Forgets these bytes: they are no longer used.
  void forget(const char* begin, std::size_t bytes);

 private:
  struct Range {
    const char* end;
    std::size_t writer = kStreams;  // the stream of the last write; kStreams: none
    std::uint64_t written = 0;
    Clock read = {};  // by stream: its last read since then
    std::string writing;
  };
  // Splits ranges at this address.
  void split(const char* at);

  mutable std::mutex mutex_;
  std::array<Clock, kStreams> clocks_ = {};
  Clock host_ = {};
  std::map<const char*, Range> ranges_;  // by begin; they do not overlap
};

}  // namespace ridgeline
