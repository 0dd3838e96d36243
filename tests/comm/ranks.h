// tests/comm/ranks.h
//
// Several ranks in one test: as threads of this process, or as processes of their own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ridgeline/comm/communicator.h"

namespace ridgeline::comm {

// A name that no other test uses.
std::string unique_name();

// Runs `body` on `size` threads, each with its communicator over shared memory. The message of each rank's Error, ""
// for none.
std::vector<std::string> run_ranks(int size, const std::function<void(Communicator&)>& body, int timeout_seconds = 60);
// The same, all without an Error.
void expect_ranks(int size, const std::function<void(Communicator&)>& body);

// Runs `body` in `size` processes. Each one's end: its Error's message, "" for none, "signal 9" for a signal.
std::vector<std::string> run_processes(int size, const std::function<void(Communicator&)>& body);

}  // namespace ridgeline::comm
