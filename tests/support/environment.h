// tests/support/environment.h
//
// How many cases a test takes: few in each run, more where a variable asks for them.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace ridgeline::testing {

// The number in an environment variable; `otherwise` where it is not set.
inline std::int64_t number_from_environment(const char* variable, std::int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::atoll(text);
}

}  // namespace ridgeline::testing
