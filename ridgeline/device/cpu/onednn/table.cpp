#include "ridgeline/device/cpu/entry.h"
#include "ridgeline/device/cpu/library.h"
#include "ridgeline/device/cpu/onednn/common.h"

namespace ridgeline::device {

KernelFactory make_onednn_conv2d, make_onednn_conv2d_bwd_data, make_onednn_conv2d_bwd_weights;
KernelFactory make_chunked_onednn_conv2d, make_chunked_onednn_conv2d_bwd_data, make_chunked_onednn_conv2d_bwd_weights;
KernelFactory make_onednn_dense, make_onednn_dense_bwd_data, make_onednn_dense_bwd_weights, make_onednn_matmul;
KernelFactory make_onednn_max_pool_bwd, make_onednn_avg_pool, make_onednn_avg_pool_bwd;
KernelFactory make_onednn_lrn, make_onednn_lrn_bwd;
KernelFactory make_onednn_batch_norm_train, make_onednn_batch_norm_bwd, make_onednn_batch_norm_eval;

namespace {

constexpr KernelEntry entry(std::string_view op, std::string_view name, KernelFactory* factory, Reproducibility bits,
                            KernelSpeed speed) {
  return {op, name, Provider::library, factory, kOnednnStorage, Arithmetic::f32, {bits, true}, speed.best};
}

constexpr KernelEntry library(std::string_view op, KernelFactory* factory, KernelSpeed speed = speeds::kLibrary) {
  return entry(op, "onednn", factory, Reproducibility::fast, speed);
}

// The same with bits that do not depend on the team.
constexpr KernelEntry chunked(std::string_view op, KernelFactory* factory) {
  return entry(op, "onednn_chunks", factory, Reproducibility::deterministic, speeds::kLibraryChunks);
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
    library("avg_pool", make_onednn_avg_pool, speeds::kLibraryAhead),
    library("avg_pool_bwd", make_onednn_avg_pool_bwd),
    library("lrn", make_onednn_lrn, speeds::kLibraryAhead),
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
