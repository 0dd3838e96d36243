// ridgeline/comm/shared/shared_communicator.h
//
// Ranks that are processes of one machine, over memory that they share. Values pass through a staging area of each rank
// in chunks that stay in the second cache, so that a collective reads and writes main memory about once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/comm/communicator.h"

namespace ridgeline::comm {

struct SharedOptions {
  // Equal on all ranks and for no other run of this user: they meet by it. Letters, digits, '-', '_', '.'.
  std::string name;
  int rank = 0;
  int size = 1;
  std::vector<std::string> names = {};                   // what messages call the ranks; empty: "rank 0" and so on
  std::chrono::milliseconds connect_timeout{120'000};    // until all ranks have come (HCCL_CONNECT_TIMEOUT)
  std::function<void()> watch = {};                      // called while others are waited for; may throw
  std::chrono::milliseconds execute_timeout{1'836'000};  // of a rank that lives, but does not come (HCCL_EXEC_TIMEOUT)
};

// Returns when all ranks have come; size 1 shares nothing. Errors (kind usage): more ranks than kMostSharedRanks, a
// rank outside of [0, size), a name with other characters; (kind failure) ranks that are missing in time, by number.
std::unique_ptr<Communicator> shared_communicator(const SharedOptions& options);

}  // namespace ridgeline::comm
