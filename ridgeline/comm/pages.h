// ridgeline/comm/pages.h
//
// Memory for Communicator::allocate where no other process sees it.
#pragma once

#include <cstdint>
#include <memory>

namespace ridgeline::comm {

// Zeroed, of whole pages, at least one. An Error where there is no memory.
std::shared_ptr<void> own_pages(std::int64_t bytes);

}  // namespace ridgeline::comm
