// ridgeline/device/simulated/access_order.h
//
// Whether work on several streams is in order: any two pieces of it that touch the same bytes, one of them writing,
// must be, by the order of a stream, by events, or by the host that waited in between. Each stream counts its work, and
// knows up to which piece of every other stream it has waited (a vector clock). Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>

namespace ridgeline {

// Bytes that work reads or writes. `device` addresses, as programs name them.
struct Access {
  const char* begin;
  std::size_t bytes;
  bool writes;
};

class AccessOrder {
 public:
  static constexpr std::size_t kStreams = 3;
  using Clock = std::array<std::uint64_t, kStreams>;

  // The next piece of work of a stream: an Error where it meets work of another stream that it has not waited for.
  void add(std::size_t stream, std::span<const Access> accesses, const std::string& what);
  // What has waited for an event that is recorded on the stream now has waited for this.
  Clock record(std::size_t stream) const;
  void wait(std::size_t stream, const Clock& clock);
  // The host has waited: all that it gives to any stream from now on comes behind that.
  void host_waits(const Clock& clock);
  // Nothing touches these bytes any more.
  void forget(const char* begin, std::size_t bytes);

 private:
  struct Range {
    const char* end;
    std::size_t writer = kStreams;  // the stream of the last write; kStreams: none
    std::uint64_t written = 0;
    Clock read = {};  // by stream: its last read since then
    std::string writing;
  };
  // Makes ranges begin and end at these borders.
  void split(const char* at);

  mutable std::mutex mutex_;
  std::array<Clock, kStreams> clocks_ = {};
  Clock host_ = {};
  std::map<const char*, Range> ranges_;  // by begin; they do not overlap
};

}  // namespace ridgeline
