// The one list of CPU kernels. For each op, compilation takes the first that accepts; docs/device.md tells which orders
// were measured.
#include "ridgeline/device/cpu/kernel_table.h"

#include <algorithm>
#include <cstdlib>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/amx/kernels.h"
#include "ridgeline/device/cpu/loop_kernels.h"
#include "ridgeline/device/cpu/onednn_kernels.h"
#include "ridgeline/device/cpu/own_kernels.h"
#include "ridgeline/device/cpu/winograd/kernels.h"
#include "ridgeline/device/reference_kernel.h"

namespace ridgeline {
namespace {

using namespace device;

constexpr auto kOwn = Provider::own;
constexpr auto kLibrary = Provider::library;

// A kernel that moves elements and computes nothing.
constexpr KernelEntry copies(std::string_view op, KernelChoice (*factory)(const KernelRequest&)) {
  return {op, "own", kOwn, factory, kFloatingTypes, Arithmetic::f64};
}

// A kernel on bf16 tiles; results and biases may be f32.
constexpr KernelEntry tiles(std::string_view op, std::string_view name, KernelChoice (*factory)(const KernelRequest&)) {
  return {op, name, kOwn, factory, {DType::f32, DType::bf16}};
}

constexpr KernelEntry kTable[] = {
    tiles("conv2d", "amx", make_amx_conv2d),
    {"conv2d", "winograd", kOwn, make_winograd_conv2d},
    {"conv2d", "onednn", kLibrary, make_onednn_conv2d},
    {"conv2d", "winograd_any", kOwn, make_any_winograd_conv2d},
    tiles("conv2d", "amx_any", make_any_amx_conv2d),
    tiles("conv2d_bwd_data", "amx", make_amx_conv2d_bwd_data),
    {"conv2d_bwd_data", "winograd", kOwn, make_winograd_conv2d_bwd_data},
    {"conv2d_bwd_data", "onednn", kLibrary, make_onednn_conv2d_bwd_data},
    {"conv2d_bwd_data", "winograd_any", kOwn, make_any_winograd_conv2d_bwd_data},
    tiles("conv2d_bwd_data", "amx_any", make_any_amx_conv2d_bwd_data),
    tiles("conv2d_bwd_weights", "amx", make_amx_conv2d_bwd_weights),
    {"conv2d_bwd_weights", "winograd", kOwn, make_winograd_conv2d_bwd_weights},
    {"conv2d_bwd_weights", "onednn", kLibrary, make_onednn_conv2d_bwd_weights},
    {"conv2d_bwd_weights", "winograd_any", kOwn, make_any_winograd_conv2d_bwd_weights},
    tiles("dense", "amx", make_amx_dense),
    {"dense", "onednn", kLibrary, make_onednn_dense},
    tiles("dense_bwd_data", "amx", make_amx_dense_bwd_data),
    {"dense_bwd_data", "onednn", kLibrary, make_onednn_dense_bwd_data},
    tiles("dense_bwd_weights", "amx", make_amx_dense_bwd_weights),
    {"dense_bwd_weights", "onednn", kLibrary, make_onednn_dense_bwd_weights},

    {"max_pool", "own", kOwn, make_own_max_pool},
    {"max_pool", "onednn", kLibrary, make_onednn_max_pool},
    {"max_pool_bwd", "onednn", kLibrary, make_onednn_max_pool_bwd},
    {"max_pool_bwd", "own", kOwn, make_own_max_pool_bwd},
    {"avg_pool", "onednn", kLibrary, make_onednn_avg_pool},
    {"avg_pool", "own", kOwn, make_own_avg_pool},
    {"avg_pool_bwd", "own", kOwn, make_own_avg_pool_bwd},
    {"avg_pool_bwd", "onednn", kLibrary, make_onednn_avg_pool_bwd},

    {"lrn", "onednn", kLibrary, make_onednn_lrn},
    {"lrn", "own", kOwn, make_own_lrn},
    {"lrn_bwd", "own", kOwn, make_own_lrn_bwd},
    {"lrn_bwd", "onednn", kLibrary, make_onednn_lrn_bwd},
    {"batch_norm_train", "own", kOwn, make_own_batch_norm_train},
    {"batch_norm_train", "onednn", kLibrary, make_onednn_batch_norm_train},
    {"batch_norm_bwd", "own", kOwn, make_own_batch_norm_bwd},
    {"batch_norm_bwd", "onednn", kLibrary, make_onednn_batch_norm_bwd},
    {"batch_norm_eval", "own", kOwn, make_own_batch_norm_eval},
    {"batch_norm_eval", "onednn", kLibrary, make_onednn_batch_norm_eval},

    {"reduce_sum", "own", kOwn, make_own_reduce},
    {"reduce_mean", "own", kOwn, make_own_reduce},
    {"reduce_max", "own", kOwn, make_own_reduce},
    {"l2_penalty", "own", kOwn, make_own_l2_penalty},
    {"softmax", "own", kOwn, make_own_softmax},
    {"softmax_cross_entropy", "own", kOwn, make_own_softmax_cross_entropy},
    {"softmax_cross_entropy_bwd", "own", kOwn, make_own_softmax_cross_entropy_bwd},
    {"top_k_accuracy", "own", kOwn, make_own_top_k_accuracy},
    {"argmax_accuracy", "own", kOwn, make_own_argmax_accuracy},

    copies("reshape", make_own_reshape),
    copies("flatten", make_own_flatten),
    copies("unflatten", make_own_unflatten),
    copies("transpose", make_own_transpose),
    copies("broadcast_to", make_own_broadcast_to),
    copies("pad", make_own_pad),
    copies("strided_slice", make_own_strided_slice),
    copies("strided_slice_bwd", make_own_strided_slice_bwd),
    {"image_tail", "own", kOwn, make_own_image_tail},
};

}  // namespace

std::vector<KernelEntry> cpu_kernels(std::string_view op, std::optional<Provider> forced) {
  const OpDef* def = find_op(op);
  if (def == nullptr) return {};
  std::vector<KernelEntry> entries;
  if (forced != Provider::reference) {
    for (const KernelEntry& entry : kTable) {
      if (entry.op == op) entries.push_back(entry);
    }
    for (const KernelEntry& entry : loop_kernels()) {
      if (entry.op == op) entries.push_back(entry);
    }
    std::stable_partition(entries.begin(), entries.end(),
                          [&](const KernelEntry& entry) { return entry.provider == forced; });
  }
  if (def->reference) entries.push_back(reference_entry(*def));
  return entries;
}

std::optional<Provider> forced_provider() {
  const char* name = std::getenv("RIDGELINE_KERNELS");
  if (name == nullptr || *name == '\0') return std::nullopt;
  for (const Provider provider : {Provider::reference, Provider::library, Provider::own}) {
    if (name_of(provider) == name) return provider;
  }
  throw Error("RIDGELINE_KERNELS is '" + std::string(name) + "' (allowed: reference, library, own)", ErrorKind::usage);
}

}  // namespace ridgeline
