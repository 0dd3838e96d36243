// ridgeline/core/location_text.h
//
// The user's line, as messages end with it.
#pragma once

#include <source_location>
#include <string>

#include "ridgeline/core/location.h"

namespace ridgeline {

// " (models/alexnet.cpp:57)"; "" where it is not known.
inline std::string behind_message(const Location& where) { return where.known() ? " (" + where.to_string() + ")" : ""; }
inline std::string behind_message(const std::source_location& at) { return behind_message(Location::of(at)); }

}  // namespace ridgeline
