// ridgeline/device/cpu/direct/kernels.h
//
// Convolutions in f32 by plain products, for any shape, groups, strides and dilation. The order of
// every sum follows from the shapes alone, one lane an element: the same bits for any team and any vector length. They
// keep the promise of Reproducibility::portable and make a build without a kernel library train. Signatures as
// KernelEntry::factory.
#pragma once

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// forward.cpp
KernelChoice make_direct_conv2d(const KernelRequest& request);
// backward_data.cpp
KernelChoice make_direct_conv2d_bwd_data(const KernelRequest& request);
// backward_weights.cpp
KernelChoice make_direct_conv2d_bwd_weights(const KernelRequest& request);

}  // namespace ridgeline::device
