#include "oneapi/dnnl/dnnl.hpp"
#include "ridgeline/device/cpu/library.h"
#include "ridgeline/device/cpu/onednn/kernels.h"

namespace ridgeline::device {
namespace {

// How fast: KernelEntry::speed.
constexpr KernelEntry library(std::string_view op, KernelChoice (*factory)(const KernelRequest&), double speed = 0.85) {
  return {op,   "onednn", Provider::library, factory, kOnednnStorage, Arithmetic::f32, {Reproducibility::fast, true},
          speed};
}

constexpr KernelEntry chunked(std::string_view op, KernelChoice (*factory)(const KernelRequest&)) {
  return {op,
          "onednn_chunks",
          Provider::library,
          factory,
          kOnednnStorage,
          Arithmetic::f32,
          {Reproducibility::deterministic, true},
          0.8};
}

constexpr KernelEntry kTable[] = {
    library("conv2d", make_onednn_conv2d),
    chunked("conv2d", make_chunked_onednn_conv2d),
    library("conv2d_bwd_data", make_onednn_conv2d_bwd_data),
    chunked("conv2d_bwd_data", make_chunked_onednn_conv2d_bwd_data),
    library("conv2d_bwd_weights", make_onednn_conv2d_bwd_weights),
    chunked("conv2d_bwd_weights", make_chunked_onednn_conv2d_bwd_weights),
    library("dense", make_onednn_dense),
    library("dense_bwd_data", make_onednn_dense_bwd_data),
    library("dense_bwd_weights", make_onednn_dense_bwd_weights),
    library("matmul", make_onednn_matmul),
    library("max_pool_bwd", make_onednn_max_pool_bwd),
    library("avg_pool", make_onednn_avg_pool, 1.1),
    library("avg_pool_bwd", make_onednn_avg_pool_bwd),
    library("lrn", make_onednn_lrn, 1.1),
    library("lrn_bwd", make_onednn_lrn_bwd),
    library("batch_norm_train", make_onednn_batch_norm_train),
    library("batch_norm_bwd", make_onednn_batch_norm_bwd),
    library("batch_norm_eval", make_onednn_batch_norm_eval),
};

}  // namespace

std::span<const KernelEntry> library_kernels() { return kTable; }

std::string library_version() {
  const dnnl::version_t& version = *dnnl::version();
  return "onednn " + std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch);
}

}  // namespace ridgeline::device
