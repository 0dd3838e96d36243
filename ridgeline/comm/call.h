// ridgeline/comm/call.h
//
// A rank's description of its current call. All ranks compare theirs before they exchange anything.
#pragma once

#include <cstdint>
#include <string>

namespace ridgeline::comm {

enum class CallKind : std::uint32_t {
  none,
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  all_to_all,
  barrier,
  allocate,
  group
};

struct Call {
  CallKind kind = CallKind::none;
  std::uint32_t type = 0;
  std::uint32_t how = 0;
  std::int32_t root = 0;
  std::int32_t buffer = -1;  // the allocation that contains the values; -1: none
  std::int64_t offset = 0;   // of the values within it
  std::int64_t size = 0;

  friend bool operator==(const Call&, const Call&) = default;
};

// For messages. A call of another process may hold any values.
std::string described(const Call& call);

}  // namespace ridgeline::comm
