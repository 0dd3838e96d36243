// ridgeline/device/staged_copy.h
//
// A copy between two devices that cannot read each other's memory, through the host's.
#pragma once

#include "ridgeline/device/stream.h"

namespace ridgeline {

// Runs on `stream`, which is of one of the two devices, after its earlier work. The host waits for the other device's
// compute stream.
SourceUse staged_copy(Stream& stream, const Copy& copy);

}  // namespace ridgeline
