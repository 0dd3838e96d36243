// ridgeline/device/cpu/pixels/kernels.h
//
// Convolutions of one group as products over pixels, in f32 or over bf16 images. The order of every sum follows from
// the shapes alone, one lane an element: the same bits for any team and any vector length. Signatures as
// KernelEntry::factory.
#pragma once

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// Where they are measured to be faster than the library; `any` wherever they can. In f32 channels and filters of the
// first two are multiples of 16.

// products.cpp
KernelChoice make_pixels_conv2d(const KernelRequest& request);
KernelChoice make_any_pixels_conv2d(const KernelRequest& request);
KernelChoice make_pixels_conv2d_bwd_data(const KernelRequest& request);
KernelChoice make_any_pixels_conv2d_bwd_data(const KernelRequest& request);
// gradients.cpp
KernelChoice make_pixels_conv2d_bwd_weights(const KernelRequest& request);
KernelChoice make_any_pixels_conv2d_bwd_weights(const KernelRequest& request);

}  // namespace ridgeline::device
