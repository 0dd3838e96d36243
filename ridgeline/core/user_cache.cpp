#include "ridgeline/core/user_cache.h"

#include <cstdlib>

namespace ridgeline {

std::string user_cache_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) return std::string(cache) + "/ridgeline";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/ridgeline";
  return "";
}

}  // namespace ridgeline
