// ridgeline/device/cpu/winograd/kernels.h
//
// Factories of the Winograd kernels: f32 arithmetic on f32 or bf16 images, 3x3 and 5x5 of stride 1 and strided ones of
// 3 or 5 strides, plain layouts. Signatures as KernelEntry::factory; kernel_table.cpp has the order.
// docs/device-winograd.md has the rules, errors and measurements.
#pragma once

#include "ridgeline/device/cpu/winograd/convolution.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// Beside each how fast it is (KernelEntry::share).
KernelChoice make_winograd_conv2d(const KernelRequest& request);
double winograd_conv2d_share(const KernelRequest& request);
KernelChoice make_winograd_conv2d_bwd_data(const KernelRequest& request);
double winograd_conv2d_bwd_data_share(const KernelRequest& request);
KernelChoice make_winograd_conv2d_bwd_weights(const KernelRequest& request);
double winograd_conv2d_bwd_weights_share(const KernelRequest& request);
// With the max pooling behind it, of batches that give each thread some images.
KernelChoice make_winograd_conv2d_max_pool(const KernelRequest& request);

namespace winograd {

// As the caller wishes.
KernelChoice make_forward(const KernelRequest& request, const Wish& wish);
KernelChoice make_pooled_forward(const KernelRequest& request, const Wish& wish);
KernelChoice make_backward_data(const KernelRequest& request, const Wish& wish);
KernelChoice make_backward_weights(const KernelRequest& request, const Wish& wish);

}  // namespace winograd
}  // namespace ridgeline::device
