#include <cstring>

#include "ridgeline/comm/shared/stores.h"

namespace ridgeline::comm {

// Arm's processors detect complete lines that are written one after another. Such stores are ordered by the release
// that follows them.
void store_past_the_caches(std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

void finish_stores() {}

}  // namespace ridgeline::comm
