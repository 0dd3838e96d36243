// ridgeline/device/staged_copy.h
//
// A copy between two devices that do not read each other's memory, by way of the host's.
#pragma once

#include "ridgeline/device/stream.h"

namespace ridgeline {

// On `stream`, which is of one of the two devices, behind what it was given before. The host waits for the other
// device's compute stream.
SourceUse staged_copy(Stream& stream, const Copy& copy);

}  // namespace ridgeline
