// ridgeline/device/ranked_entries.h
//
// The entries of a device for an op in the order in which compilation tries them: by estimated time, equals as listed.
// Entries that the user asked for by name come first.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/device/kernel.h"

namespace ridgeline {

struct RankedEntry {
  KernelEntry entry;
  double seconds = 0;  // estimated, whether the entry takes the node or not
};

// The entries in that order.
std::vector<KernelEntry> by_speed(std::vector<KernelEntry> entries, const KernelRequest& request);

// A device's entries for the request's op, with their estimates.
std::vector<RankedEntry> ranked_entries(const KernelRequest& request, const Device& device);

// "amx 0.41 ms, winograd 1.02 ms": for the log.
std::string to_text(const std::vector<RankedEntry>& ranked);

}  // namespace ridgeline
