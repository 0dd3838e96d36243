// ridgeline/comm/shared/shared_communicator.h
//
// Ranks that are processes of one machine, over memory that they share. Values pass through a staging area of each rank
// in chunks that stay in the second-level cache, so that a collective reads and writes main memory about once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/comm/communicator.h"

namespace ridgeline::comm {

struct SharedOptions {
  // Equal on all ranks, which find each other by it, and different from other runs of this user. Letters, digits, '-',
  // '_', '.'.
  std::string name;
  int rank = 0;
  int size = 1;
  std::vector<std::string> names = {};                   // the ranks' names in messages; empty: "rank 0" and so on
  std::chrono::milliseconds connect_timeout{120'000};    // until all ranks have arrived (HCCL_CONNECT_TIMEOUT)
  std::function<void()> watch = {};                      // called while waiting for others; may throw
  std::chrono::milliseconds execute_timeout{1'836'000};  // for a live rank to arrive (HCCL_EXEC_TIMEOUT)
};

// Returns when all ranks have arrived; size 1 shares nothing. Errors (kind usage): more ranks than kMostSharedRanks, a
// rank outside of [0, size), a name with other characters; (kind failure) ranks that did not arrive in time, by number.
std::unique_ptr<Communicator> shared_communicator(const SharedOptions& options);

}  // namespace ridgeline::comm
