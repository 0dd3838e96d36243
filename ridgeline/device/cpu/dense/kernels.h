// ridgeline/device/cpu/dense/kernels.h
//
// Dense layers over many rows, in f32 over f32 or bf16 values: their three passes, and the update of the weights with
// their gradient. The order of every sum follows from the shapes alone, one lane an element: the same bits for any team
// and any vector length. Signatures as KernelEntry::factory.
#pragma once

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// Rows and weights for which these kernels are faster than the library's. They want weights in plain rows, so the rule
// is the same for all passes of a layer. By measurement: docs/device-dense.md.
constexpr std::int64_t kMostDenseRows = 256;
constexpr std::int64_t kLeastDenseWeights = 4'000'000;

// Beside each how fast it is (KernelEntry::share).
KernelChoice make_rows_dense(const KernelRequest& request);
double rows_dense_share(const KernelRequest& request);
KernelChoice make_rows_dense_bwd_data(const KernelRequest& request);
double rows_dense_bwd_data_share(const KernelRequest& request);
KernelChoice make_rows_dense_bwd_weights(const KernelRequest& request);
double rows_dense_bwd_weights_share(const KernelRequest& request);
// Who asks for it knows what it saves (FusionLimits::forms).
KernelChoice make_rows_dense_update(const KernelRequest& request);

// Products of any matrices, one or many of them (graph/op/matmul.h).
KernelChoice make_own_matmul(const KernelRequest& request);

}  // namespace ridgeline::device
