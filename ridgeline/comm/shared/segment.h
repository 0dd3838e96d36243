// ridgeline/comm/shared/segment.h
//
// The piece of memory that the ranks of one machine share, and how they meet in it: by a name, within a time. The name
// is gone from the system as soon as everybody has it open, so that nothing stays behind whoever ends how.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "ridgeline/comm/call.h"

namespace ridgeline::comm {

inline constexpr int kMostSharedRanks = 64;
inline constexpr std::size_t kSharedPage = 4096;

// A count that others wait for. On a cache line of its own.
struct alignas(64) SharedCount {
  std::atomic<std::uint32_t> value{0};
  std::atomic<std::uint32_t> waiting{0};  // processes that sleep until it changes
};

struct alignas(64) SharedRank {
  std::atomic<std::int32_t> process{0};  // 0: has not come yet
  std::atomic<std::uint32_t> left{0};    // 1: has closed its communicator, and may end
  Call calls[2];                         // of this and the previous collective: nobody is further ahead
  SharedCount arrived;                   // barriers that this rank has come to
};

struct SharedHeader {
  std::atomic<std::uint32_t> ready{0};  // kSharedReady when the rest has its first values
  std::uint32_t size = 0;
  std::uint64_t bytes = 0;               // of the whole segment: tells a wrong one
  std::uint64_t token = 0;               // of the run, drawn by rank 0: part of the names of groups
  std::atomic<std::int32_t> failed{-1};  // the first rank that ended or gave up; -2 while its reason is written
  char reason[512] = {};                 // what every other rank's Error says
  SharedRank ranks[kMostSharedRanks];
};

class SharedSegment {
 public:
  // Rank 0 makes it, the others find it; returns when all `size` have come. `token` binds those that find it to one
  // run; 0: rank 0 draws one. An Error when somebody is not there in time: it names the ranks that are missing. `watch`
  // is called meanwhile, and may throw.
  SharedSegment(const std::string& name, int rank, int size, std::size_t bytes_behind_header, std::uint64_t token,
                std::chrono::milliseconds timeout, const std::function<void()>& watch = {});
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  SharedHeader& header() const { return *header_; }
  std::byte* data() const { return reinterpret_cast<std::byte*>(header_) + header_bytes(); }
  static std::size_t header_bytes();
  // The name of one in which not all have met, as they ended before.
  static void remove(const std::string& name);

 private:
  void create(const std::string& path, std::uint64_t token);
  bool open(const std::string& path, std::uint64_t token);
  void* map(int file) const;
  bool is_named(const std::string& path) const;
  void meet(int rank, std::chrono::steady_clock::time_point until, const std::function<void()>& watch);

  SharedHeader* header_ = nullptr;
  std::size_t bytes_ = 0;
  int size_ = 0;
};

}  // namespace ridgeline::comm
