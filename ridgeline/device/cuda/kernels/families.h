// ridgeline/device/cuda/kernels/families.h
//
// The rows of each family of kernels, joined by kernel_rows().
#pragma once

#include <span>

#include "ridgeline/device/cuda/kernels/row.h"

namespace ridgeline::cuda {

std::span<const KernelRow* const> axis_softmax_rows();
std::span<const KernelRow* const> batch_norm_rows();
std::span<const KernelRow* const> column_sums_rows();
std::span<const KernelRow* const> copies_rows();
std::span<const KernelRow* const> depthwise_rows();
std::span<const KernelRow* const> direct_rows();
std::span<const KernelRow* const> dropout_rows();
std::span<const KernelRow* const> few_rows_rows();
std::span<const KernelRow* const> first_layer_rows();
std::span<const KernelRow* const> first_layer_gradient_rows();
std::span<const KernelRow* const> gather_rows();
std::span<const KernelRow* const> image_tail_rows();
std::span<const KernelRow* const> lrn_rows();
std::span<const KernelRow* const> pool_rows();
std::span<const KernelRow* const> rank_sums_rows();
std::span<const KernelRow* const> reduce_rows();
std::span<const KernelRow* const> sample_norm_rows();
std::span<const KernelRow* const> softmax_rows();
std::span<const KernelRow* const> update_rows();

}  // namespace ridgeline::cuda
