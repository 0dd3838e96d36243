// ridgeline/comm/call.h
//
// What a rank says of the call that it is in. All ranks compare it before they exchange anything.
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
  std::int32_t buffer = -1;  // the allocation that the values lie in; -1: none
  std::int64_t offset = 0;   // in it
  std::int64_t size = 0;

  friend bool operator==(const Call&, const Call&) = default;
};

// For messages. A call of another process may hold anything.
std::string described(const Call& call);

}  // namespace ridgeline::comm
