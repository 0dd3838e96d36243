// ridgeline/device/collective_kernel.h
//
// The exchange that a collective_start begins, as a kernel for a device's second stream. It runs on host addresses:
// packed values are exchanged in place, others from the operand to the result.
#pragma once

#include <memory>
#include <span>

#include "ridgeline/comm/communicator.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline {

struct CollectiveRequest {
  const Node& start;
  comm::Communicator& ranks;            // must outlive the kernel
  std::span<const ValueType> operands;  // of the start
  std::span<const std::size_t> bytes;   // of the operands in their layout
  ValueType pending;
  std::size_t pending_bytes = 0;
};

// Operands and result are those of the start; it has no scratch.
std::unique_ptr<Kernel> make_collective_kernel(const CollectiveRequest& request);

}  // namespace ridgeline
