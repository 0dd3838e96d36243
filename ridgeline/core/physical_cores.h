// ridgeline/core/physical_cores.h
//
// Processors that are threads of one core (hyperthreads) share its arithmetic: a second thread of a matrix product
// gains nothing there and takes half of the caches.
#pragma once

#include <string>
#include <vector>

namespace ridgeline {

// On how many cores these processors, by their numbers, lie. One of which the system says nothing is a core of its own.
// Files are looked for below `root`, which tests put in place of "".
int physical_cores(const std::vector<int>& processors, const std::string& root);

}  // namespace ridgeline
