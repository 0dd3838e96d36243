// ridgeline/device/cpu/pool/pooled_node.h
//
// A node conv2d_max_pool as kernels see it: the result of its convolution, and the windows over that. A plain value.
#pragma once

#include "ridgeline/device/cpu/pool/pool_geometry.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

struct PooledNode {
  ValueType image;
  PoolGeometry pool;
  explicit PooledNode(const KernelRequest& request);
};

}  // namespace ridgeline::device
