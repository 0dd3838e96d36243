// ridgeline/device/cuda/comm/staged_exchange.h
//
// An exchange between ranks through the host: values are copied to pinned memory, the ranks' communicator exchanges
// them there, and the result is copied back. All of it is work of the stream, which may be captured.
#pragma once

#include <memory>

#include "ridgeline/device/collective_kernel.h"

namespace ridgeline::cuda {

class CudaDevice;

std::unique_ptr<Kernel> make_staged_exchange(CudaDevice& device, const CollectiveRequest& request);

}  // namespace ridgeline::cuda
