// ridgeline/device/cpu/pixels/kernels.h
//
// Convolutions of one group as products over pixels, in f32 or over bf16 images. The order of every sum follows from
// the shapes alone, one lane an element: the same bits for any team and any vector length. Signatures as
// KernelEntry::factory.
#pragma once

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// Beside each how fast it is (KernelEntry::share). In f32 channels and filters of the first two are multiples of 16.

// products.cpp
KernelChoice make_pixels_conv2d(const KernelRequest& request);
double pixels_conv2d_share(const KernelRequest& request);
KernelChoice make_pixels_conv2d_bwd_data(const KernelRequest& request);
double pixels_conv2d_bwd_data_share(const KernelRequest& request);
// gradients.cpp
KernelChoice make_pixels_conv2d_bwd_weights(const KernelRequest& request);
double pixels_conv2d_bwd_weights_share(const KernelRequest& request);

}  // namespace ridgeline::device
