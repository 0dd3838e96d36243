// tests/comm/ranks.h
//
// Several ranks in one test, as threads of this process or as separate processes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ridgeline/comm/communicator.h"

namespace ridgeline::comm {

// A name that no other test uses.
std::string unique_name();

// Runs `body` on `size` threads, each with its communicator over shared memory. Returns the message of each rank's
// Error, "" without an Error.
std::vector<std::string> run_ranks(int size, const std::function<void(Communicator&)>& body, int timeout_seconds = 60);
// The same; fails if there is an Error.
void expect_ranks(int size, const std::function<void(Communicator&)>& body);

// Runs `body` in `size` processes. Returns the end of each: its Error's message, "" without an Error, "signal 9" for a
// signal.
std::vector<std::string> run_processes(int size, const std::function<void(Communicator&)>& body);

}  // namespace ridgeline::comm
