// ridgeline/core/version.h
#pragma once

namespace ridgeline {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace ridgeline
