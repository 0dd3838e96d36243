#include "ridgeline/device/cuda/table/kernel_table.h"

#include "ridgeline/device/cuda/loop/update_text.h"
#include "ridgeline/device/cuda/table/entries.h"

namespace ridgeline::cuda {

std::vector<KernelEntry> kernel_entries(std::string_view op, bool libraries) {
  std::vector<KernelEntry> entries;
  for (const auto family : {convolution_entries(), dense_entries(), dense_update_entries(), norm_entries(),
                            pool_entries(), sum_entries(), loss_entries(), copy_entries(), loop_entries()}) {
    for (const KernelEntry& entry : family) {
      if (entry.op == op && (libraries || entry.provider != Provider::library)) entries.push_back(entry);
    }
  }
  return entries;
}

FusionLimits fusion_of_kernels() {
  constexpr DTypeSet kTypes{DType::f32, DType::bf16, DType::f16};
  FusionLimits limits;
  for (const char* op : {"conv2d", "dense", "batch_norm_train", "batch_norm_eval"}) {
    for (const char* with : {"relu", "add"}) limits.forms.push_back({op, with, kTypes});
  }
  for (const char* op : {"batch_norm_train", "batch_norm_eval"}) limits.forms.push_back({op, "relu6", kTypes});
  for (const char* gate : {"relu_grad", "relu6_grad"}) limits.forms.push_back({"batch_norm_bwd", gate, kTypes});
  limits.forms.push_back({"update_group", "", {DType::f32}});
  limits.again = kTypes;  // both norms end in the same kernel
  // A launch takes as long as moving the gradient of so many elements twice more, because it has left the cache.
  limits.grouped_update_elements = std::int64_t{1} << 20;
  // Larger ones compute the gradient themselves, if tensor cores can and few rows leave them waiting for the states.
  for (const char* with : {"", "l2_penalty"}) {
    limits.forms.push_back(
        {"dense_update", with, {DType::bf16, DType::f16}, kMostUpdateRows, limits.grouped_update_elements + 1});
  }
  // As many operands as fit into a kernel's parameters with room to spare.
  limits.loop = {.terms = 96,
                 .operands = 24,
                 .inputs = {DType::f32, DType::bf16, DType::f16, DType::u8, DType::i32, DType::boolean},
                 .results = {DType::f32, DType::bf16, DType::f16, DType::boolean},
                 .sums = true};
  return limits;
}

}  // namespace ridgeline::cuda
