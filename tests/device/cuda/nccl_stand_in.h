// tests/device/cuda/nccl_stand_in.h
//
// Stands in for NCCL where there is no card: ranks are threads, memory is the host's, and work that was given to a
// stream is done when the test waits for it, which blocks, as NCCL's kernels do, until the other ranks have come or the
// communicator is given up. What ranks say of the same work must match. One at a time in a process.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/device/cuda/driver/types.h"
#include "ridgeline/device/cuda/nccl/functions.h"

namespace ridgeline::cuda::testing {

class NcclStandIn {
 public:
  // What the call of a rank shall answer with; 0: it is done.
  using Fault = std::function<nccl::Result(std::string_view call, int rank)>;

  explicit NcclStandIn(Fault fault = {});
  ~NcclStandIn();
  NcclStandIn(const NcclStandIn&) = delete;
  NcclStandIn& operator=(const NcclStandIn&) = delete;

  const nccl::Functions& functions() const { return functions_; }
  // Says which rank the calling thread is: of calls that are of no communicator.
  static void this_thread_is(int rank);

  // What did not match, messages that nobody took, what was done in a wrong order; and communicators nobody ended.
  std::vector<std::string> problems() const;
  int live() const;
  int aborted() const;

 private:
  nccl::Functions functions_;
};

// A stream for the stand-in.
class StandInStream {
 public:
  StreamHandle handle() { return reinterpret_cast<StreamHandle>(this); }
  // Does what was given, in its order.
  void synchronize();
  void give(std::function<void()> work) { work_.push_back(std::move(work)); }

 private:
  std::deque<std::function<void()>> work_;
};

}  // namespace ridgeline::cuda::testing
