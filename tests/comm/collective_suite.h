// tests/comm/collective_suite.h
//
// Checks for every engine against plain loops. Each rank calls it with its communicator, of any engine.
#pragma once

#include "ridgeline/comm/communicator.h"

namespace ridgeline::comm {

// All collectives, types and reductions, odd sizes and size 0, messages between two ranks, groups of some of the ranks,
// two groups at once.
void check_collectives(Communicator& all);

}  // namespace ridgeline::comm
