// ridgeline/comm/shared/segment.h
//
// The memory that the ranks of one machine share. They find it by a name, within a timeout. The name is removed from
// the system as soon as all ranks have opened it, so that nothing is left however they end.
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

// A counter that others wait for. On its own cache line.
struct alignas(64) SharedCount {
  std::atomic<std::uint32_t> value{0};
  std::atomic<std::uint32_t> waiting{0};  // processes that sleep until it changes
};

struct alignas(64) SharedRank {
  std::atomic<std::int32_t> process{0};  // 0: has not arrived yet
  std::atomic<std::uint32_t> left{0};    // 1: has closed its communicator, and may end
  Call calls[2];                         // of this and the previous collective: no rank is further ahead
  SharedCount arrived;                   // barriers that this rank has reached
};

struct SharedHeader {
  std::atomic<std::uint32_t> ready{0};  // kSharedReady once the other fields have their initial values
  std::uint32_t size = 0;
  std::uint64_t bytes = 0;               // of the whole segment: detects a wrong one
  std::uint64_t token = 0;               // of the run, drawn by rank 0: contained in the names of groups
  std::atomic<std::int32_t> failed{-1};  // the first rank that ended or gave up; -2 while its reason is written
  char reason[512] = {};                 // what every other rank's Error says
  SharedRank ranks[kMostSharedRanks];
};

class SharedSegment {
 public:
  // Rank 0 makes the segment, the others find it; returns when all `size` have arrived. `token` identifies the run to
  // those that find it; 0: rank 0 draws one. After the timeout an Error names the missing ranks. `watch` is called
  // meanwhile, and may throw.
  SharedSegment(const std::string& name, int rank, int size, std::size_t bytes_behind_header, std::uint64_t token,
                std::chrono::milliseconds timeout, const std::function<void()>& watch = {});
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  SharedHeader& header() const { return *header_; }
  std::byte* data() const { return reinterpret_cast<std::byte*>(header_) + header_bytes(); }
  static std::size_t header_bytes();
  // Removes the name of a segment in which not all ranks arrived before they ended.
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
