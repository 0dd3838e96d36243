// tests/comm/killed_ranks.h
//
// A rank that is killed at a random moment, inside of whatever it does then.
#pragma once

#include <chrono>

#include "ridgeline/comm/communicator.h"

namespace ridgeline::comm {

// How many kills a test makes: RIDGELINE_KILLS, or `otherwise`.
int kills(int otherwise);

// Ends this process by SIGKILL so long from now, from a thread of its own.
void kill_this_process_after(std::chrono::microseconds moment);

// Collectives of many kinds and sizes, for ever: until an Error or the end.
[[noreturn]] void exchange_for_ever(Communicator& c);

}  // namespace ridgeline::comm
