// ridgeline/comm/pages.h
//
// Memory for Communicator::allocate if no other process shares it.
#pragma once

#include <cstdint>
#include <memory>

namespace ridgeline::comm {

// Zeroed, in whole pages, at least one. An Error if there is no memory.
std::shared_ptr<void> own_pages(std::int64_t bytes);

}  // namespace ridgeline::comm
