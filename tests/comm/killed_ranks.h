// tests/comm/killed_ranks.h
//
// Tools to kill a rank at a random moment, whatever it is doing.
#pragma once

#include <chrono>

#include "ridgeline/comm/communicator.h"

namespace ridgeline::comm {

// The number of kills per test: RIDGELINE_KILLS, or `otherwise`.
int kills(int otherwise);

// Kills this process with SIGKILL after this time, from a separate thread.
void kill_this_process_after(std::chrono::microseconds moment);

// Runs collectives of many kinds and sizes, until an Error or the end of the process.
[[noreturn]] void exchange_for_ever(Communicator& c);

}  // namespace ridgeline::comm
