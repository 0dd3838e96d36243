// ridgeline/device/cpu/dense/kernels.h
//
// Dense layers over many rows, in f32 over f32 or bf16 values: their three passes, and the update of the weights with
// their gradient. The order of every sum follows from the shapes alone, one lane an element: the same bits for any team
// and any vector length. Signatures as KernelEntry::factory.
#pragma once

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// Rows and weights for which these kernels stand in front of the library's. They want weights in plain rows, so the
// rule is the same for all passes of a layer. By measurement: docs/device-dense.md.
constexpr std::int64_t kMostDenseRows = 256;
constexpr std::int64_t kLeastDenseWeights = 4'000'000;

KernelChoice make_rows_dense(const KernelRequest& request);
KernelChoice make_rows_dense_bwd_data(const KernelRequest& request);
KernelChoice make_rows_dense_bwd_weights(const KernelRequest& request);
// Of any size: who asks for it knows what it saves (FusionLimits::dense_updates).
KernelChoice make_rows_dense_update(const KernelRequest& request);

// Of any size as well: behind the library, for what it refuses.
KernelChoice make_any_rows_dense(const KernelRequest& request);
KernelChoice make_any_rows_dense_bwd_data(const KernelRequest& request);
KernelChoice make_any_rows_dense_bwd_weights(const KernelRequest& request);

// Products of any matrices, one or many of them (graph/op/matmul.h).
KernelChoice make_own_matmul(const KernelRequest& request);

}  // namespace ridgeline::device
