// ridgeline/comm/shared/stores.h
//
// Stores of what another rank reads next: past the caches, where the processor has such stores. Each thread calls
// finish_stores() before it says that they are there.
#pragma once

#include <cstddef>

namespace ridgeline::comm {

void store_past_the_caches(std::byte* to, const std::byte* from, std::size_t bytes);
void finish_stores();

}  // namespace ridgeline::comm
