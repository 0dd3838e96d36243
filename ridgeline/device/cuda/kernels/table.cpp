#include <vector>

#include "ridgeline/device/cuda/kernels/families.h"

namespace ridgeline::cuda {

std::span<const KernelRow* const> kernel_rows() {
  static const std::vector<const KernelRow*> rows = [] {
    std::vector<const KernelRow*> all;
    for (const auto family : {axis_softmax_rows(), batch_norm_rows(), column_sums_rows(), copies_rows(),
                              depthwise_rows(), direct_rows(), dropout_rows(), few_rows_rows(), first_layer_rows(),
                              first_layer_gradient_rows(), gather_rows(), image_tail_rows(), lrn_rows(), pool_rows(),
                              rank_sums_rows(), reduce_rows(), sample_norm_rows(), softmax_rows(), update_rows()}) {
      all.insert(all.end(), family.begin(), family.end());
    }
    return all;
  }();
  return rows;
}

}  // namespace ridgeline::cuda
