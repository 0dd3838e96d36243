// ridgeline/device/cpu/own_kernels.h
//
// Factories of the project's own CPU kernels (f32, plain layouts; copies take any type). Each has the signature of
// KernelEntry::factory; kernel_table.cpp says for which ops and in which order they are tried. Sums run over fixed
// chunks whose borders depend on the shapes alone, so that results do not depend on the size of the compute team.
#pragma once

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// pool/max_pool.cpp, pool/avg_pool.cpp
KernelChoice make_own_max_pool(const KernelRequest& request);
KernelChoice make_own_max_pool_bwd(const KernelRequest& request);
KernelChoice make_own_avg_pool(const KernelRequest& request);
KernelChoice make_own_avg_pool_bwd(const KernelRequest& request);
// sum/reduce.cpp: reduce_sum, reduce_mean, reduce_max over any axes
KernelChoice make_own_reduce(const KernelRequest& request);
// sum/l2_penalty.cpp: operands in any layout, since padding is zero
KernelChoice make_own_l2_penalty(const KernelRequest& request);
// norm/batch_norm.cpp, norm/batch_norm_bwd.cpp
KernelChoice make_own_batch_norm_train(const KernelRequest& request);
KernelChoice make_own_batch_norm_bwd(const KernelRequest& request);
KernelChoice make_own_batch_norm_eval(const KernelRequest& request);
// norm/sample_norm.cpp: layer_norm and group_norm
KernelChoice make_own_sample_norm(const KernelRequest& request);
KernelChoice make_own_sample_norm_bwd(const KernelRequest& request);
// norm/lrn.cpp: beta 0.75
KernelChoice make_own_lrn(const KernelRequest& request);
KernelChoice make_own_lrn_bwd(const KernelRequest& request);
// sum/softmax.cpp
KernelChoice make_own_softmax(const KernelRequest& request);
KernelChoice make_own_softmax_bwd(const KernelRequest& request);
KernelChoice make_own_softmax_cross_entropy(const KernelRequest& request);
KernelChoice make_own_softmax_cross_entropy_bwd(const KernelRequest& request);
// sum/accuracy.cpp
KernelChoice make_own_top_k_accuracy(const KernelRequest& request);
KernelChoice make_own_argmax_accuracy(const KernelRequest& request);
// copy/copies.cpp
KernelChoice make_own_reshape(const KernelRequest& request);
KernelChoice make_own_flatten(const KernelRequest& request);
KernelChoice make_own_unflatten(const KernelRequest& request);
KernelChoice make_own_transpose(const KernelRequest& request);
KernelChoice make_own_broadcast_to(const KernelRequest& request);
KernelChoice make_own_pad(const KernelRequest& request);
KernelChoice make_own_strided_slice(const KernelRequest& request);
KernelChoice make_own_strided_slice_bwd(const KernelRequest& request);
KernelChoice make_own_concat(const KernelRequest& request);
KernelChoice make_own_split(const KernelRequest& request);
// copy/gather.cpp
KernelChoice make_own_gather(const KernelRequest& request);
KernelChoice make_own_gather_bwd(const KernelRequest& request);
// collective_start of packed values, in any layout: nothing is copied that lies in its place already
KernelChoice make_own_collective_start(const KernelRequest& request);
// copy/image_tail.cpp
KernelChoice make_own_image_tail(const KernelRequest& request);

}  // namespace ridgeline::device
