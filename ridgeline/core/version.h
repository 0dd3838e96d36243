// ridgeline/core/version.h
#pragma once

namespace ridgeline {

// The only definition: CMake and the packages read it here.
inline constexpr const char* kVersion = "0.2.0";

}  // namespace ridgeline
