// tests/comm/collective_suite.h
//
// What every engine must do, against plain loops. Each rank calls it with its communicator, whatever carries it.
#pragma once

#include "ridgeline/comm/communicator.h"

namespace ridgeline::comm {

// All collectives, all types and reductions, odd sizes and none, messages between two, groups of a part of the ranks,
// two groups at once.
void check_collectives(Communicator& all);

}  // namespace ridgeline::comm
