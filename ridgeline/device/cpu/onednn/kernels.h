// ridgeline/device/cpu/onednn/kernels.h
//
// Factories of the kernels that oneDNN computes, on f32 and bf16. Activations are plain NHWC; the weights of
// convolutions and dense layers may be in a layout of the library's choice. Signatures as KernelEntry::factory;
// kernel_table.cpp has the order.
#pragma once

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// The types that the library's kernels read and write.
inline constexpr DTypeSet kOnednnStorage{DType::f32, DType::bf16};

// onednn_conv.cpp
KernelChoice make_onednn_conv2d(const KernelRequest& request);
KernelChoice make_onednn_conv2d_bwd_data(const KernelRequest& request);
KernelChoice make_onednn_conv2d_bwd_weights(const KernelRequest& request);
// chunks.cpp: the same with bits that do not depend on the team.
KernelChoice make_chunked_onednn_conv2d(const KernelRequest& request);
KernelChoice make_chunked_onednn_conv2d_bwd_data(const KernelRequest& request);
KernelChoice make_chunked_onednn_conv2d_bwd_weights(const KernelRequest& request);
// onednn_dense.cpp
KernelChoice make_onednn_dense(const KernelRequest& request);
KernelChoice make_onednn_dense_bwd_data(const KernelRequest& request);
KernelChoice make_onednn_dense_bwd_weights(const KernelRequest& request);
// matmul.cpp
KernelChoice make_onednn_matmul(const KernelRequest& request);
// onednn_pool.cpp
KernelChoice make_onednn_max_pool_bwd(const KernelRequest& request);
KernelChoice make_onednn_avg_pool(const KernelRequest& request);
KernelChoice make_onednn_avg_pool_bwd(const KernelRequest& request);
// onednn_norm.cpp
KernelChoice make_onednn_lrn(const KernelRequest& request);
KernelChoice make_onednn_lrn_bwd(const KernelRequest& request);
KernelChoice make_onednn_batch_norm_train(const KernelRequest& request);
KernelChoice make_onednn_batch_norm_bwd(const KernelRequest& request);
KernelChoice make_onednn_batch_norm_eval(const KernelRequest& request);

}  // namespace ridgeline::device
