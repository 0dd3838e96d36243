#include "ridgeline/comm/call.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace ridgeline::comm {

std::string described(const Call& call) {
  constexpr std::string_view kNames[] = {"nothing",    "all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                         "all_to_all", "barrier",    "allocate",       "group"};
  const auto kind = static_cast<std::size_t>(call.kind);
  return fmt::format("{} (size {}, type {}, reduction {}, root {}, buffer {} at {})",
                     kind < std::size(kNames) ? kNames[kind] : "an unknown collective", call.size, call.type, call.how,
                     call.root, call.buffer, call.offset);
}

}  // namespace ridgeline::comm
