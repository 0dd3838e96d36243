// ridgeline/comm/shared/stores.h
//
// Stores of values that another rank reads next: they bypass the caches if the processor can. Each thread calls
// finish_stores() before it announces them.
#pragma once

#include <cstddef>

namespace ridgeline::comm {

void store_past_the_caches(std::byte* to, const std::byte* from, std::size_t bytes);
void finish_stores();

}  // namespace ridgeline::comm
