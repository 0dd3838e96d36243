// ridgeline/core/user_cache.h
//
// Where a user's caches are kept between runs: indexes of large files, indices of JPEGs. Any thread.
#pragma once

#include <string>

namespace ridgeline {

// $XDG_CACHE_HOME/ridgeline or ~/.cache/ridgeline, which may not exist yet; "" without either variable.
std::string user_cache_directory();

}  // namespace ridgeline
