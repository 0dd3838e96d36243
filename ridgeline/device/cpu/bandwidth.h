// ridgeline/device/cpu/bandwidth.h
//
// Measures the machine's memory limit: the rate at which the compute team reads arrays that no cache holds.
#pragma once

#include "ridgeline/device/cpu/measured_rate.h"

namespace ridgeline::device {

// Gigabytes a second, in several passes over 256 MB of random bytes (about 0.3 s in all). Writes cost at least as much
// as reads, so no kernel with operands in memory is faster.
MeasuredRate measure_memory_rate();

}  // namespace ridgeline::device
